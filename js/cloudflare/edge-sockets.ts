import type { Interests } from './interests.js';

/** What the core knows of edges. */
export interface EdgeLedger {
  /** The position of the last frame that an edge was sent. */
  last(edge: number): number | undefined;
  /** The number of what an edge said last. */
  seq(edge: number): number | undefined;
  /** An edge has gone. */
  disconnect(edge: number): void;
}

/** The hibernating sockets of the edges, and what each one said and was sent last. */
export class EdgeSockets {
  readonly #ledger: EdgeLedger;
  readonly #interests: Interests;
  readonly #sockets = new Map<number, WebSocket>();
  readonly #edges = new Map<WebSocket, number>();
  /** Edges that were sent something which their attachment does not know yet. */
  readonly #behind = new Set<number>();

  constructor(ledger: EdgeLedger, interests: Interests) {
    this.#ledger = ledger;
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

  /** Forgets a socket; answers whether it was known. */
  leave(socket: WebSocket): boolean {
    const edge = this.#edges.get(socket);
    if (edge === undefined) return false;
    this.#edges.delete(socket);
    this.#sockets.delete(edge);
    this.#behind.delete(edge);
    this.#ledger.disconnect(edge);
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
      if (socket !== undefined) this.#interests.reach(socket, this.#ledger.last(edge), this.#ledger.seq(edge));
    }
    this.#behind.clear();
  }
}
