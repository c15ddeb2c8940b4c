import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { portOf } from '../../host/port.ts';
import { endTogether } from '../../host/wire/end-together.ts';

/** A proxy in front of a broker, which can be shut while the broker keeps running. */
export class BrokerProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isShut = false;
  #trap: { pattern: RegExp; onCut: () => void } | undefined;

  private constructor(port: number) {
    this.#server = createServer({ noDelay: true }, (near) => {
      if (this.#isShut) near.destroy();
      else this.#join(near, connect({ port, host: '127.0.0.1', noDelay: true }));
    });
  }

  /** Forwards connections to a port of this machine. */
  static async before(port: number): Promise<BrokerProxy> {
    const proxy = new BrokerProxy(port);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** Cuts every connection, and accepts no other. */
  shut(): void {
    this.#isShut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#isShut = false;
  }

  /**
   * Cuts the next connection on which a client sends what matches, before the broker can respond;
   * resolves when it has.
   */
  cutAt(pattern: RegExp): Promise<void> {
    return new Promise((onCut) => {
      this.#trap = { pattern, onCut };
    });
  }

  stop(): void {
    this.shut();
    this.#server.close();
  }

  #join(near: Socket, far: Socket): void {
    near.on('data', (data) => {
      const trap = this.#trap;
      if (trap === undefined || !trap.pattern.test(data.toString())) return;
      this.#trap = undefined;
      for (const socket of [near, far]) socket.destroy();
      trap.onCut();
    });
    near.pipe(far);
    far.pipe(near);
    endTogether(near, far, this.#sockets);
  }
}
