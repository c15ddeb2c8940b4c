import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';

/**
 * A server of 2025 that a page may ask: the sessions of the real Worker, which refuses
 * `server/discover` as those do that know of no such thing, and whose streams can be cut.
 */
export class Elder {
  readonly #worker: string;
  /** What each name was asked. */
  readonly #log = new Map<string, string[]>();
  readonly #streams = new Map<string, ServerResponse>();

  /** `worker` is the origin of an edge isolate. */
  constructor(worker: string) {
    this.#worker = worker;
  }

  /**
   * What was asked under the name, one request a line: what it calls, or its method; and whence it
   * goes on.
   */
  asked(name: string): string {
    return (this.#log.get(name) ?? []).join('\n');
  }

  /** Breaks the stream of the name off. */
  cut(name: string): void {
    this.#streams.get(name)?.destroy();
  }

  async answer(
    name: string,
    asked: URLSearchParams,
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
    const wanted = asked.get('authorization');
    if (wanted !== null && authorization !== wanted) return void response.writeHead(401).end();
    if (call === 'server/discover') return void response.writeHead(400).end();
    if (method === 'GET') this.#streams.set(name, response);
    const told = await fetch(
      `${this.#worker}/with?options=${encodeURIComponent('{"legacy":"sessions"}')}`,
      {
        method,
        headers: headersOf(request),
        ...(body !== '' && { body }),
      },
    );
    const { status, headers } = told;
    response.writeHead(status, pick([...headers])).flushHeaders();
    if (told.body === null) return void response.end();
    // A stream that is cut, or that the page closes, is closed to the Worker too.
    await pipeline(Readable.fromWeb(told.body as NodeReadableStream), response).catch(() => {});
  }
}

function headersOf(request: IncomingMessage): [string, string][] {
  return Object.entries(
    pick(Object.entries(request.headersDistinct).map(([name, values]) => [name, `${values}`])),
  );
}

/** The fields that are the protocol's. */
function pick(fields: [string, string][]): Record<string, string> {
  return Object.fromEntries(
    fields.filter(([name]) => /^(mcp-|accept$|content-type|last-event-id)/.test(name)),
  );
}
