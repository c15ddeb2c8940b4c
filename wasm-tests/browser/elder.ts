import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';

/**
 * A server of 2025 for pages: the sessions of the fixture Worker. It refuses `server/discover`, as
 * servers of that revision do, and its streams can be cut.
 */
export class Elder {
  readonly #worker: string;
  /** The requests of each name. */
  readonly #log = new Map<string, string[]>();
  readonly #streams = new Map<string, ServerResponse>();

  /** `worker` is the origin of an edge isolate. */
  constructor(worker: string) {
    this.#worker = worker;
  }

  /** The requests of a name, one a line: the JSON-RPC or HTTP method, and `again` if it resumes. */
  requests(name: string): string {
    return (this.#log.get(name) ?? []).join('\n');
  }

  /** Cuts the stream of a name. */
  cut(name: string): void {
    this.#streams.get(name)?.destroy();
  }

  async respond(
    name: string,
    params: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const body = (await request.setEncoding('utf8').toArray()).join('');
    const method = request.method ?? '';
    const call = body === '' ? method : (JSON.parse(body) as { method: string }).method;
    const { 'last-event-id': last, authorization } = request.headers;
    this.#log.set(name, [
      ...(this.#log.get(name) ?? []),
      last === undefined ? call : `${call} again`,
    ]);
    const wanted = params.get('authorization');
    if (wanted !== null && authorization !== wanted) return void response.writeHead(401).end();
    if (call === 'server/discover') return void response.writeHead(400).end();
    if (method === 'GET') this.#streams.set(name, response);
    const fetched = await fetch(
      `${this.#worker}/with?options=${encodeURIComponent('{"legacy":"sessions"}')}`,
      {
        method,
        headers: headersOf(request),
        ...(body !== '' && { body }),
      },
    );
    const { body: stream, headers, status } = fetched;
    response.writeHead(status, pick([...headers])).flushHeaders();
    if (stream === null) return void response.end();
    // A stream that is cut, or that the page closes, is closed at the Worker too.
    await pipeline(Readable.fromWeb(stream as NodeReadableStream), response).catch(() => {});
  }
}

function headersOf(request: IncomingMessage): [string, string][] {
  return Object.entries(
    pick(Object.entries(request.headersDistinct).map(([name, values]) => [name, `${values}`])),
  );
}

/** The header fields of the protocol. */
function pick(fields: [string, string][]): Record<string, string> {
  return Object.fromEntries(
    fields.filter(([name]) => /^(mcp-|accept$|content-type|last-event-id)/.test(name)),
  );
}
