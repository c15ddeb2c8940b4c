import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { portOf } from '../../host/port.ts';
import { closeFrame, FrameSplitter } from './frames.ts';

/** Handles a frame: passes it, another frame, or none. */
export type Rule = (frame: Buffer, tunnel: Tunnel) => void;

/** The faults of the wire. Default: none. */
export interface Faults {
  /** Frames of the bus. */
  toEdge?: Rule;
  /** Frames of edges. */
  toBus?: Rule;
  /** The reply to upgrades, instead of that of the bus. */
  upgrade?: { status: number; headers?: Record<string, string> };
  /** Milliseconds for which upgrades hang before their connection is closed. */
  hangMs?: number;
}

/** The wire between the processes of edges and the process of the bus, with faults. */
export class Wire {
  faults: Faults = {};
  /** Upgrades, and other requests, so far. */
  readonly counts = { requests: 0, upgrades: 0 };
  readonly tunnels = new Set<Tunnel>();
  readonly #server: Server;
  readonly #bus: () => number;
  readonly #agent = new Agent({ keepAlive: true, timeout: 3_000 });

  private constructor(bus: () => number) {
    this.#bus = bus;
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
    this.#server.on('upgrade', (incoming, socket) => this.#upgrade(incoming, socket as Socket));
  }

  /** Starts a wire to the port that `bus` returns for each connection. */
  static async start(bus: () => number): Promise<Wire> {
    const wire = new Wire(bus);
    await once(wire.#server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }), 'listening');
    return wire;
  }

  /** The origin for edges. */
  get origin(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  /** Ends all tunnels: with a close frame if there is a code, otherwise without one. */
  cut(code?: number): void {
    for (const tunnel of this.tunnels) tunnel.cut(code);
  }

  /** Stops the wire and its connections. */
  stop(): void {
    this.cut();
    this.#agent.destroy();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    this.counts.requests += 1;
    const { method, url, headers } = incoming;
    const onward = request({
      port: this.#bus(),
      host: '127.0.0.1',
      method,
      path: url,
      headers,
      agent: this.#agent,
    });
    onward.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  #upgrade(incoming: IncomingMessage, edge: Socket): void {
    this.counts.upgrades += 1;
    const { upgrade, hangMs } = this.faults;
    edge.on('error', () => edge.destroy());
    if (upgrade !== undefined) edge.end(responseHead(upgrade.status, upgrade.headers));
    else if (hangMs !== undefined) setTimeout(() => edge.destroy(), hangMs);
    else this.#tunnel(incoming, edge);
  }

  #tunnel(incoming: IncomingMessage, edge: Socket): void {
    const bus = connect({ port: this.#bus(), host: '127.0.0.1', noDelay: true });
    bus.write(requestHead(incoming));
    const tunnel = new Tunnel(edge, bus, () => this.faults);
    this.tunnels.add(tunnel);
    edge.once('close', () => this.tunnels.delete(tunnel));
  }
}

/** One WebSocket of an edge to the bus. */
export class Tunnel {
  /** The state of rules for this tunnel. */
  readonly memory = new Map<string, unknown>();
  readonly #edge: Socket;
  readonly #bus: Socket;
  readonly #faults: () => Faults;

  constructor(edge: Socket, bus: Socket, faults: () => Faults) {
    this.#edge = edge;
    this.#bus = bus;
    this.#faults = faults;
    edge.setNoDelay(true);
    const toBus = new FrameSplitter();
    edge.on('data', (chunk: Buffer) => this.#apply('toBus', toBus.push(chunk)));
    this.#readBus();
    // The sockets of a server stay half open: an edge that leaves during its upgrade only ends.
    edge.on('end', () => bus.end());
    edge.on('close', () => bus.destroy());
    bus.on('error', () => edge.destroy());
    bus.on('close', () => edge.destroy());
  }

  /** Passes a frame to the edge. */
  toEdge(frame: Buffer): void {
    if (!this.#edge.destroyed) this.#edge.write(frame);
  }

  /** Passes a frame to the bus. */
  toBus(frame: Buffer): void {
    if (this.#bus.writable) this.#bus.write(frame);
  }

  /** Ends the tunnel, with a close frame if there is a code. */
  cut(code?: number): void {
    if (code === undefined) this.#edge.destroy();
    else this.#edge.end(closeFrame(code));
    this.#bus.destroy();
  }

  /** Ends the tunnel at the bus only; the edge does not notice. */
  forget(): void {
    this.#bus.removeAllListeners('close').destroy();
  }

  /** Passes the head of the reply, and applies the rule to the frames after it. */
  #readBus(): void {
    const frames = new FrameSplitter();
    let head: Buffer | undefined = Buffer.alloc(0);
    this.#bus.on('data', (chunk: Buffer) => {
      if (head === undefined) return this.#apply('toEdge', frames.push(chunk));
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n') + 4;
      if (end < 4) return;
      this.toEdge(head.subarray(0, end));
      const rest = head.subarray(end);
      head = undefined;
      if (rest.length > 0) this.#apply('toEdge', frames.push(rest));
    });
  }

  #apply(direction: 'toEdge' | 'toBus', frames: Buffer[]): void {
    for (const frame of frames) {
      const rule = this.#faults()[direction];
      if (rule === undefined) this[direction](frame);
      else rule(frame, this);
    }
  }
}

/** The head of the request without the offer to compress, so that rules can read frames. */
function requestHead({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, place) =>
    place % 2 === 0 && name.toLowerCase() !== 'sec-websocket-extensions'
      ? [`${name}: ${rawHeaders[place + 1]}`]
      : [],
  );
  return [`${method} ${url} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

function responseHead(status: number, headers: Record<string, string> = {}): string {
  const fields = Object.entries({ 'content-length': '0', connection: 'close', ...headers });
  return [`HTTP/1.1 ${status} -`, ...fields.map((field) => field.join(': ')), '', ''].join('\r\n');
}
