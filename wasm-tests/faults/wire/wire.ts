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

/** What happens to a frame: the rule passes it on, or another one, or none. */
export type Rule = (frame: Buffer, tunnel: Tunnel) => void;

/** What the wire does to what crosses it; nothing where a member is missing. */
export interface Faults {
  /** Frames of the bus. */
  toEdge?: Rule;
  /** Frames of edges. */
  toBus?: Rule;
  /** Answers upgrades by itself, as a bus in trouble does. */
  upgrade?: { status: number; headers?: Record<string, string> };
  /** Leaves upgrades without any answer for so long. */
  hangMs?: number;
}

/**
 * The wire between the processes of edges and the process of the bus: it passes everything, or
 * spoils it.
 */
export class Wire {
  /** What is done to frames and upgrades from now on. */
  faults: Faults = {};
  /** Requests that were no upgrades, and upgrades, so far. */
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

  /** Listens on any port, and leads to the one that `bus` names at the time. */
  static async start(bus: () => number): Promise<Wire> {
    const wire = new Wire(bus);
    await once(wire.#server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }), 'listening');
    return wire;
  }

  /** Where edges find it. */
  get origin(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  /**
   * Ends every tunnel: with a code as a bus closes sockets, without one as a network loses them.
   */
  cut(code?: number): void {
    for (const tunnel of this.tunnels) tunnel.cut(code);
  }

  /** Ends the wire and all that crosses it. */
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
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  #upgrade(incoming: IncomingMessage, edge: Socket): void {
    this.counts.upgrades += 1;
    const { upgrade, hangMs } = this.faults;
    edge.on('error', () => edge.destroy());
    if (upgrade !== undefined) edge.end(answerHead(upgrade.status, upgrade.headers));
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

/** One socket of an edge to the bus. */
export class Tunnel {
  /** For rules that must remember something of each tunnel. */
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
    this.#hearBus();
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
    if (!this.#bus.destroyed) this.#bus.write(frame);
  }

  /** Ends the tunnel, with a code or as a network does. */
  cut(code?: number): void {
    if (code === undefined) this.#edge.destroy();
    else this.#edge.end(closeFrame(code));
    this.#bus.destroy();
  }

  /** Ends the tunnel at the bus alone: the edge goes on believing in it. */
  forget(): void {
    this.#bus.removeAllListeners('close').destroy();
  }

  /** The head of the answer passes as it is; what follows the switch are frames. */
  #hearBus(): void {
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

/** Without the offer to compress, which would hide what frames say. */
function requestHead({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, place) =>
    place % 2 === 0 && name.toLowerCase() !== 'sec-websocket-extensions'
      ? [`${name}: ${rawHeaders[place + 1]}`]
      : [],
  );
  return [`${method} ${url} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

function answerHead(status: number, headers: Record<string, string> = {}): string {
  const fields = Object.entries({ 'content-length': '0', connection: 'close', ...headers });
  return [`HTTP/1.1 ${status} -`, ...fields.map((field) => field.join(': ')), '', ''].join('\r\n');
}
