import { setTimeout } from 'node:timers/promises';
import type { Workerd } from '../../../scripts/workerd/workerd.mjs';
import { startFixture } from '../../host/fixture/start.ts';
import { listen, type WireStream } from '../../host/listen.ts';
import { SECRET } from '../../host/signing.ts';

/** Isolates 0 and 1 are in Europe; two connections fit into a shard, so there are three shards. */
const CONTINENTS = ['EU', 'EU', 'NA', 'AS'];

/** A bus with three shards and four isolates, whose console is at `/console/`. */
export class BusyBus {
  readonly workerd: Workerd;
  readonly streams: WireStream[] = [];
  /** The number of events that those streams have received. */
  received = 0;

  private constructor(workerd: Workerd) {
    this.workerd = workerd;
  }

  static async start(): Promise<BusyBus> {
    const text = { EDGES_PER_SHARD: '2', KEEP_ALIVE_MS: '15000' };
    return new BusyBus(await startFixture({ edges: CONTINENTS.length, text, bundle: undefined }));
  }

  /** The console of the first isolate. */
  get console(): string {
    return `${this.workerd.edges[0]}/console/#token=${SECRET}`;
  }

  /**
   * Opens streams in all isolates, and reads them. The first ones, with which each isolate finds
   * out that its streams can share a socket, one after the other.
   */
  async open(count: number): Promise<void> {
    const first = Math.min(2 * CONTINENTS.length, count);
    for (let opened = 0; opened < first; opened += 1) await this.#openOne(opened);
    for (let opened = first; opened < count; opened += PARALLEL) {
      const some = Array.from({ length: Math.min(PARALLEL, count - opened) }, (_, index) =>
        this.#openOne(opened + index),
      );
      await Promise.all(some);
    }
  }

  /** Publishes an event. */
  async publish(event: object): Promise<void> {
    const body = JSON.stringify(event);
    await fetch(`${this.workerd.edges[1]}/publish`, { method: 'POST', body });
  }

  /** Publishes `perSecond` events a second for some seconds; resolves with their number. */
  async publishFor(seconds: number, perSecond: number): Promise<number> {
    const begin = performance.now();
    const published: Promise<void>[] = [];
    while (published.length < seconds * perSecond) {
      const place = published.length % TOPICS;
      published.push(this.publish({ kind: 'resource_updated', uri: `note://${place}` }));
      const due = begin + (published.length / perSecond) * 1_000;
      await setTimeout(Math.max(0, due - performance.now()));
    }
    await Promise.all(published);
    return published.length;
  }

  async stop(): Promise<void> {
    for (const stream of this.streams) stream.drop();
    await this.workerd.stop();
  }

  async #openOne(index: number): Promise<void> {
    const edge = index % CONTINENTS.length;
    const stream = await listen(
      `${this.workerd.edges[edge]}/mcp`,
      { toolsListChanged: true, resourceSubscriptions: [`note://${index % TOPICS}`] },
      { headers: { 'x-continent': CONTINENTS[edge], 'x-user': `user-${index % CALLERS}` } },
    );
    this.streams.push(stream);
    void this.#read(stream);
  }

  async #read(stream: WireStream): Promise<void> {
    try {
      await stream.event(); // The acknowledgment.
      while ((await stream.event()) !== undefined) this.received += 1;
    } catch {
      // Dropped at the end of the test.
    }
  }
}

const PARALLEL = 50;
/** The number of resources whose changes are published. */
export const TOPICS = 20;
/** A server accepts a limited number of streams of each caller. */
const CALLERS = 100;
