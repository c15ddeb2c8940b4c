import { PassThrough, type Readable, type Writable } from 'node:stream';
import { InMemoryBus } from 'mcp-listen';
import { type StdioListenOptions, serveListenStdio } from 'mcp-listen/node';
import { afterEach, expect, type Mock, vi } from 'vitest';
import { acknowledged, listenBody } from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { LineReader } from '../../host/stdio.ts';
import { TOOLS } from '../serving.ts';

/** The upstream server, declared so that it is not asked. */
const KNOWN: StdioListenOptions = { server: declaring(CAPABILITIES) };

/** A connection whose test is both the client and the upstream server. */
export function connected(options: StdioListenOptions = {}, known = KNOWN) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const bus = new InMemoryBus();
  const onError: Mock = vi.fn();
  const behind: { stdin?: Readable; stdout?: Writable } = {};
  const serve = (input: Readable, output: Writable) =>
    void Object.assign(behind, { stdin: input, stdout: output });
  const server = serveListenStdio(serve, { ...known, bus, onError, stdin, stdout, ...options });
  const { stdin: received, stdout: replies } = behind as { stdin: Readable; stdout: Writable };
  const send = (line: string) => stdin.write(`${line}\n`);
  return {
    bus,
    onError,
    received,
    replies,
    send,
    server,
    stdin,
    stdout,
    lines: new LineReader(stdout),
  };
}

/** Opens a subscription up to its acknowledgment. */
export async function open(
  { lines, send }: Pick<ReturnType<typeof connected>, 'lines' | 'send'>,
  id: string,
  filter: object = TOOLS,
): Promise<void> {
  send(listenBody(filter, id));
  expect(await lines.next()).toBe(acknowledged(id, filter));
}

/** Fails the tests of a file that leave an exception or a rejection unhandled. */
export function failOnUnhandled(): void {
  const unhandled = vi.fn();
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, unhandled);
  afterEach(() => expect(unhandled).not.toHaveBeenCalled());
}
