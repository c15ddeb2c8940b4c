import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An endpoint that accepts every message at once, and counts them. */
export class Receiver {
  messages = 0;
  readonly #server: Server;
  #expected = Number.POSITIVE_INFINITY;
  #complete: () => void = () => {};

  private constructor() {
    this.#server = createServer((request, response) => {
      request.resume().once('end', () => {
        response.writeHead(204).end();
        this.#count();
      });
    });
  }

  /** Starts it on a free port. */
  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await once(receiver.#server.listen(0, '127.0.0.1'), 'listening');
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once it has got this many messages from now on. */
  expect(messages: number): Promise<void> {
    this.#expected = this.messages + messages;
    return new Promise((resolve) => {
      this.#complete = resolve;
    });
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #count(): void {
    this.messages += 1;
    if (this.messages === this.#expected) this.#complete();
  }
}
