import type { Bus, Kept } from '../../wasm/server/bindings.js';
import { TRY_AGAIN_LATER } from '../wire/close-codes.js';
import type { SocketAttachments } from './socket-attachments.js';

/** The hibernating sockets of the edges, and what each one said and was sent last. */
export class EdgeSockets {
  readonly #core: Bus;
  readonly #now: () => number;
  readonly #interests: SocketAttachments;
  readonly #sockets = new Map<number, WebSocket>();
  readonly #edges = new Map<WebSocket, number>();
  /** Edges that were sent something which their attachment does not know yet. */
  readonly #behind = new Set<number>();

  /** @param now - the clock on which the core is told of edges. */
  constructor(core: Bus, now: () => number, interests: SocketAttachments) {
    this.#core = core;
    this.#now = now;
    this.#interests = interests;
  }

  /** How many sockets are open. */
  get size(): number {
    return this.#edges.size;
  }

  /** The socket of an edge. */
  socket(edge: number): WebSocket | undefined {
    return this.#sockets.get(edge);
  }

  /** The edge of a socket. */
  edge(socket: WebSocket): number | undefined {
    return this.#edges.get(socket);
  }

  /** Takes in the socket of an edge. */
  enter(socket: WebSocket, edge: number): void {
    this.#sockets.set(edge, socket);
    this.#edges.set(socket, edge);
  }

  /** Takes in a socket of before a restart. What cannot be restored is closed, so that its edge comes back: it must not stay and hear nothing. */
  restore(socket: WebSocket): void {
    try {
      const { last, seq, session } = this.#interests.told(socket);
      this.enter(
        socket,
        this.#core.connect(this.#interests.get(socket)?.join('\n'), last, seq, session),
      );
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  /** Keeps how what an edge follows has changed. */
  keep(socket: WebSocket, edge: number, { change, keepsAll = false, session }: Kept): void {
    const kept = (): string[] => this.#core.kept(edge, true).topics ?? [];
    if (keepsAll) this.#interests.put(socket, kept(), session);
    if (change !== undefined) this.#interests.change(socket, change, kept);
  }

  /** Forgets a socket; answers whether it was known. */
  leave(socket: WebSocket): boolean {
    const edge = this.#edges.get(socket);
    if (edge === undefined) return false;
    this.#edges.delete(socket);
    this.#sockets.delete(edge);
    this.#behind.delete(edge);
    this.#core.disconnect(edge, this.#now());
    return true;
  }

  /** Sends a frame; returns false where the socket has died before its close event came. */
  send(edge: number, frame: string): boolean {
    try {
      this.#sockets.get(edge)?.send(frame);
    } catch {
      return false;
    }
    this.#behind.add(edge);
    return true;
  }

  /**
   * Writes to the attachments what their edges said and were sent last. Has to be called in the turn of the event loop that
   * sends, or while a timer is armed: otherwise the object may hibernate before, and forget it.
   */
  settle(): void {
    for (const edge of this.#behind) {
      const socket = this.#sockets.get(edge);
      if (socket === undefined) continue;
      const { last, seq } = this.#core.kept(edge, false);
      this.#interests.reach(socket, last, seq);
    }
    this.#behind.clear();
  }
}
