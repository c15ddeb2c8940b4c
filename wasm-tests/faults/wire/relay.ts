import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { portOf } from '../../host/port.ts';
import { endTogether } from '../../host/wire/end-together.ts';

/** Makes a function that writes chunks to `out` in other pieces. */
export type Pieces = (out: Socket) => (chunk: Buffer) => void;

/** A proxy for bytes that forwards them in other pieces. */
export class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a relay to an origin on this machine. */
  static async start(origin: string, pieces: Pieces): Promise<Relay> {
    const server = createServer({ noDelay: true });
    const relay = new Relay(server);
    server.on('connection', (near) =>
      relay.#join(near, connect(Number(new URL(origin).port), '127.0.0.1'), pieces),
    );
    await once(server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }), 'listening');
    return relay;
  }

  /** The origin of the relay. */
  get origin(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  /** Stops the relay and its connections. */
  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket, far: Socket, pieces: Pieces): void {
    far.setNoDelay(true);
    near.on('data', pieces(far));
    far.on('data', pieces(near));
    endTogether(near, far, this.#sockets);
  }
}

/** Writes each byte separately. */
export const splitting: Pieces = (out) => (chunk) => {
  for (let at = 0; at < chunk.length; at += 1) out.write(chunk.subarray(at, at + 1));
};

/** Merges the chunks of `ms` milliseconds. */
export function merging(ms: number): Pieces {
  return (out) => {
    let held: Buffer[] = [];
    return (chunk) => {
      held.push(chunk);
      if (held.length > 1) return;
      setTimeout(() => {
        out.write(Buffer.concat(held));
        held = [];
      }, ms);
    };
  };
}

/** Writes full blocks of `bytes` only; the first chunk, a head, passes. */
export function buffering(bytes: number): Pieces {
  return (out) => {
    let held: Buffer | undefined;
    return (chunk) => {
      if (held === undefined) out.write(chunk);
      held = held === undefined ? Buffer.alloc(0) : Buffer.concat([held, chunk]);
      const whole = held.length - (held.length % bytes);
      if (whole === 0) return;
      out.write(held.subarray(0, whole));
      held = held.subarray(whole);
    };
  };
}
