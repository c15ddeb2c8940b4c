import type { OperatedStreams } from './operator.js';

/** The streams of all servers of a bus in this process or isolate. */
export class ServedStreams {
  /** A server that is discarded is not kept for its counters. */
  #servers: WeakRef<OperatedStreams>[] = [];

  /** Adds the streams of a server. */
  add(streams: OperatedStreams): void {
    this.#servers = this.#servers.filter((server) => server.deref() !== undefined);
    this.#servers.push(new WeakRef(streams));
  }

  /** The streams of each server. */
  get all(): OperatedStreams[] {
    return this.#servers.map((server) => server.deref()).filter((streams) => streams !== undefined);
  }

  /** Returns how many streams a caller has here. */
  streamsOf(principal: string): number {
    return this.all.reduce((sum, server) => sum + server.streamsOf(principal), 0);
  }
}
