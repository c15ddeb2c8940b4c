import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { root } from '../../scripts/process/project.mjs';

/** The MCP server on stdio that tests start, which is the example. */
export const STDIO_SERVER = join(root, 'examples', 'stdio', 'server.mjs');

/** The same, with a bus that reports lost events at SIGUSR2 and closes at SIGHUP. */
export const LOSING_SERVER = join(root, 'wasm-tests', 'host', 'servers', 'losing.mjs');

/** Reads the lines of a stream. */
export class LineReader {
  readonly #lines: AsyncIterator<string>;

  constructor(stream: Readable) {
    const reader: Interface = createInterface({ input: stream });
    this.#lines = reader[Symbol.asyncIterator]();
  }

  /** The next line without its line feed; `undefined` at the end of the stream. */
  async next(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next();
    return done ? undefined : value;
  }
}

/** A server in a separate process, driven line by line. */
export class StdioProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: LineReader;
  readonly #exit: Promise<unknown[]>;
  complaints = '';

  /** Starts Node with `args`, by default the example. */
  constructor(...args: string[]) {
    this.child = spawn(process.execPath, args.length > 0 ? args : [STDIO_SERVER], { cwd: root });
    this.#lines = new LineReader(this.child.stdout);
    this.#exit = once(this.child, 'exit');
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.complaints += text;
    });
  }

  /** Writes one line. */
  send(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  /** The next line of the server. */
  next(): Promise<string | undefined> {
    return this.#lines.next();
  }

  /** The exit code, or the signal that ended the process. */
  async exit(): Promise<number | string> {
    const [code, signal] = (await this.#exit) as [number | null, string];
    return code ?? signal;
  }
}

/** A request of revision 2026-07-28. */
export function requestLine(id: string, method: string, params: object = {}): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const text = JSON.stringify({ _meta: meta, ...params });
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${text}}`;
}

/** A call of a tool of the example. */
export function callLine(id: string, name: string, args: object = {}): string {
  return requestLine(id, 'tools/call', { name, arguments: args });
}

/** The cancellation of subscription `id`. */
export function cancelLine(id: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
}

/** The result of subscription `id`. */
export function resultLine(id: string, serverInfo?: object): string {
  const subscription = `"io.modelcontextprotocol/subscriptionId":${id}`;
  const info = serverInfo
    ? `,"io.modelcontextprotocol/serverInfo":${JSON.stringify(serverInfo)}`
    : '';
  const result = `{"resultType":"complete","_meta":{${subscription}${info}}}`;
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}
