import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A POST on its own connection whose body the test sends piece by piece, or never. */
export class Drip {
  readonly #socket: Socket;
  /** The part of the response that has arrived. */
  #text = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text) => {
      this.#text += text;
    });
    // A server may reset the connection instead of reading the body.
    socket.on('error', () => {});
  }

  /** Sends the head of a POST with a body of 1,000 bytes, and `start`, its first bytes. */
  static async begin(
    url: string,
    headers: Record<string, string>,
    start = '{"json',
  ): Promise<Drip> {
    const { hostname, host, pathname, port, search } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const fields = Object.entries({ host, 'content-length': '1000', ...headers }).map((field) =>
      field.join(': '),
    );
    const drip = new Drip(socket);
    socket.write([`POST ${pathname}${search} HTTP/1.1`, ...fields, '', start].join('\r\n'));
    return drip;
  }

  /** The status of the response; undefined if the connection ends without one. */
  async status(): Promise<number | undefined> {
    while (!this.#text.includes('\r\n') && !this.#socket.closed) {
      await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'close')]);
    }
    const status = /^HTTP\/1\.1 (\d+)/.exec(this.#text)?.[1];
    return status === undefined ? undefined : Number(status);
  }

  /** Resolves once the connection is closed. */
  async closed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  /** Sends more of the body. */
  write(more: string): void {
    this.#socket.write(more);
  }

  /** Drops the connection. */
  drop(): void {
    this.#socket.destroy();
  }

  /** Resets the connection. workerd then drops the request, which it completes after a `drop`. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }
}
