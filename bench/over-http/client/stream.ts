import { connect, type Socket } from 'node:net';
import { LISTEN_HEADERS } from '../../../wasm-tests/host/listen.ts';
import { ChunkedResponse } from './chunked.ts';

/**
 * One listen stream on its own socket. It counts server-sent events, keeps the last one, and does
 * nothing else: the client must cost little beside the servers, and the same for each of them.
 */
export class Stream {
  /** Events since the last reset, without comments. */
  events = 0;
  readonly #socket: Socket;
  readonly #response = new ChunkedResponse((part) => this.#payload(part));
  readonly #arrived: (events: number) => void;
  #rest: Buffer = EMPTY;
  #last: Buffer = EMPTY;
  #blank: Buffer | undefined;
  #error = 'the connection was closed';

  /** @param arrived - called with the number of events in each piece. */
  constructor(url: URL, body: string, arrived: (events: number) => void) {
    this.#arrived = arrived;
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.on('error', ({ message }) => {
      this.#error = message;
    });
    this.#socket.on('data', (bytes) => this.#response.take(bytes));
    this.#socket.write(requestOf(url, body));
  }

  /** Resolves with the first event, the acknowledgment. */
  acknowledged(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (this.events === 0 && !this.isEnded) return;
        this.#socket.off('data', settle).off('close', settle);
        if (this.events > 0) resolve();
        else reject(new Error(`a listen got ${this.#response.status || this.#error}`));
      };
      this.#socket.on('data', settle).on('close', settle);
    });
  }

  /** Whether the response or its socket has ended. */
  get isEnded(): boolean {
    return this.#response.isEnded || this.#socket.destroyed;
  }

  /** The last event as text. */
  get last(): string {
    return this.#last.toString();
  }

  /** Resets the connection: workerd notices a reset at once, and an end only when it writes. */
  drop(): void {
    // Node 24 never closes a socket that is reset after the other side has ended it.
    if (this.#socket.readableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  #payload(part: Buffer): void {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    // The first piece shows which line end the server uses.
    this.#blank ??= bytes.includes(CRLF) ? Buffer.from('\r\n\r\n') : Buffer.from('\n\n');
    let from = 0;
    let events = 0;
    for (let end = bytes.indexOf(this.#blank); end >= 0; end = bytes.indexOf(this.#blank, from)) {
      if (bytes[from] !== COMMENT) {
        this.#last = bytes.subarray(from, end);
        events += 1;
      }
      from = end + this.#blank.length;
    }
    this.#rest = bytes.subarray(from);
    this.events += events;
    if (events > 0) this.#arrived(events);
  }
}

function requestOf({ host, pathname }: URL, body: string): string {
  const fields = { host, ...LISTEN_HEADERS, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

const EMPTY = Buffer.alloc(0);
const CRLF = '\r\n';
const COMMENT = ':'.charCodeAt(0);
