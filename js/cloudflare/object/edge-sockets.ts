import type { Bus, Kept } from '../../wasm/server/bindings.js';
import { TRY_AGAIN_LATER } from '../wire/close-codes.js';
import type { SocketAttachments } from './socket-attachments.js';

/** The hibernating sockets of the edges. Keeps the last call and the last sent position of each. */
export class EdgeSockets {
  readonly #core: Bus;
  readonly #now: () => number;
  readonly #attachments: SocketAttachments;
  readonly #sockets = new Map<number, WebSocket>();
  readonly #edges = new Map<WebSocket, number>();
  /** Edges that were sent a frame that their attachment does not record yet. */
  readonly #dirty = new Set<number>();
  #isDeleted = false;

  /** @param now - the clock of the times that are passed to the core. */
  constructor(core: Bus, now: () => number, attachments: SocketAttachments) {
    this.#core = core;
    this.#now = now;
    this.#attachments = attachments;
  }

  /** The number of open sockets. */
  get size(): number {
    return this.#edges.size;
  }

  /** Returns the socket of an edge. */
  socket(edge: number): WebSocket | undefined {
    return this.#sockets.get(edge);
  }

  /** Returns the edge of a socket. */
  edge(socket: WebSocket): number | undefined {
    return this.#edges.get(socket);
  }

  /** Adds the socket of an edge. */
  add(socket: WebSocket, edge: number): void {
    this.#sockets.set(edge, socket);
    this.#edges.set(socket, edge);
  }

  /**
   * Restores a socket from before a hibernation, unless it was closed. Closes a socket that cannot
   * be restored, so that its edge reconnects: it would receive nothing if it stayed open.
   */
  restore(socket: WebSocket): void {
    if (this.#attachments.isClosed(socket)) return;
    try {
      const { last, seq, session } = this.#attachments.sentState(socket);
      this.add(
        socket,
        this.#core.connect(this.#attachments.get(socket)?.join('\n'), last, seq, session),
      );
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  /** Stores a change of what an edge follows. */
  store(socket: WebSocket, edge: number, { change, keepsAll = false, session }: Kept): void {
    const kept = (): string[] => this.#core.kept(edge, true).topics ?? [];
    if (keepsAll) this.#attachments.put(socket, kept(), session);
    if (change !== undefined) this.#attachments.change(socket, change, kept);
  }

  /** Removes a socket and closes it. Has no effect on one that was removed. */
  close(socket: WebSocket, code: number): void {
    const edge = this.#edges.get(socket);
    if (edge === undefined) return;
    this.#edges.delete(socket);
    this.#sockets.delete(edge);
    this.#dirty.delete(edge);
    this.#core.disconnect(edge, this.#now());
    if (!this.#isDeleted) this.#attachments.close(socket);
    socket.close(code);
  }

  /**
   * Sends a frame to an edge that is connected. If its socket has failed before its close event
   * arrived, removes it; the edge reconnects.
   */
  send(edge: number, frame: string): void {
    const socket = this.#sockets.get(edge);
    if (socket === undefined) return;
    try {
      socket.send(frame);
      this.#dirty.add(edge);
    } catch {
      this.close(socket, TRY_AGAIN_LATER);
    }
  }

  /** Handles the deletion of the storage, with all attachments. */
  handleDeletion(): void {
    this.#isDeleted = true;
  }

  /**
   * Writes the last call and the last sent position of each edge to its attachment. Call it in the
   * turn of the event loop that sends, or while a timer is armed: otherwise the object may
   * hibernate before and lose them.
   */
  flushAttachments(): void {
    for (const edge of this.#dirty) {
      const socket = this.#sockets.get(edge);
      if (socket === undefined) continue;
      const { last, seq } = this.#core.kept(edge, false);
      this.#attachments.recordSent(socket, last, seq);
    }
    this.#dirty.clear();
  }
}
