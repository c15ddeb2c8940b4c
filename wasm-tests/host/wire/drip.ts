import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * A request on a connection of its own whose body is announced and comes byte by byte, as the test
 * says.
 */
export class Drip {
  readonly #socket: Socket;
  /** The answer up to where the test looks: its bytes as text. */
  #text = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text) => {
      this.#text += text;
    });
    // A server may reset the connection of a body that it does not want.
    socket.on('error', () => {});
  }

  /** Sends the head of a POST whose body has 1,000 bytes, and `start` of these. */
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

  /** The status of the answer, once that begins; undefined: the connection ended without one. */
  async status(): Promise<number | undefined> {
    while (!this.#text.includes('\r\n') && !this.#socket.closed) {
      await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'close')]);
    }
    const status = /^HTTP\/1\.1 (\d+)/.exec(this.#text)?.[1];
    return status === undefined ? undefined : Number(status);
  }

  /** Resolves when the server has ended the connection. */
  async closed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  /** Sends more of the body. */
  write(more: string): void {
    this.#socket.write(more);
  }

  /** Gives the connection up. */
  drop(): void {
    this.#socket.destroy();
  }
}
