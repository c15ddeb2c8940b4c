import { setTimeout as wait } from 'node:timers/promises';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../wasm-tests/host/bundle.ts';
import { listenBody } from '../../wasm-tests/host/listen.ts';
import { Stream } from '../over-http/client/stream.ts';
import { resourceUri } from '../requests.ts';
import { type Counts, each } from './counts.ts';
import { settled } from './settled.ts';

/** How the streams of an isolate reach the bus. */
export type Sockets = 'auto' | 'each';

/** The counts of one run. */
export interface Counted {
  sockets: Sockets;
  /** A stream opens beside those before it, the sockets of the isolates included. */
  open: Counts;
  /** A random stream leaves, and another one opens that watches a different resource. */
  turnover: Counts;
  /** A resource changes that all streams watch; one change a second. */
  change: Counts;
  /** A resource changes that one stream watches; one change a second. */
  ownChange: Counts;
  /** The same while the objects hibernate. */
  waking: Counts;
}

/** A tenth of the streams of the example, on workerd. */
export class Example {
  readonly #workerd: Workerd;
  readonly #streams: Array<{ stream: Stream; edge: number; uri: string }> = [];
  #opened = 0;
  #random = 1;

  private constructor(workerd: Workerd) {
    this.#workerd = workerd;
  }

  /** Runs the example, and stops workerd. */
  static async run(sockets: Sockets, sizes: Sizes): Promise<Counted> {
    const workerd = await startWorkerd({
      bundle: await bundleWorker('bench/workers/cost'),
      edges: ISOLATES + 1,
      durableObjects: [{ binding: 'COST_BUS', className: 'CountedBus' }],
      text: { SOCKETS: sockets, EDGES_PER_SHARD: String(sizes.streams / SHARDS) },
    });
    const example = new Example(workerd);
    try {
      return { sockets, ...(await example.#measure(sizes)) };
    } finally {
      for (const { stream } of example.#streams) stream.drop();
      await workerd.kill();
    }
  }

  async #measure({ changes, opens, streams, wakes }: Sizes): Promise<Omit<Counted, 'sockets'>> {
    const open = await this.#each(streams, () => this.#open(this.#opened % ISOLATES));
    const turnover = await this.#each(opens, () => this.#replace());
    const change = await this.#each(changes, () => this.#publish(SHARED, SECOND_MS));
    const own = (): string => this.#streams[this.#below(this.#streams.length)]?.uri ?? '';
    const ownChange = await this.#each(changes, () => this.#publish(own(), SECOND_MS));
    const waking = await this.#each(wakes, async () => {
      await wait(ASLEEP_MS);
      await this.#publish(own(), 0);
    });
    return { open, turnover, change, ownChange, waking };
  }

  /** The cost of one turn of `times`, with everything that it causes. */
  async #each(times: number, act: () => Promise<void>): Promise<Counts> {
    const before = await settled(this.#workerd.bus);
    for (let time = 0; time < times; time += 1) await act();
    return each(before, await settled(this.#workerd.bus), times);
  }

  async #open(edge: number): Promise<void> {
    const uri = resourceUri(this.#opened + 1);
    this.#opened += 1;
    const body = listenBody({ toolsListChanged: true, resourceSubscriptions: [SHARED, uri] }, '1');
    const stream = new Stream(new URL('/mcp', this.#workerd.edges[edge]), body, () => {});
    await stream.acknowledged();
    this.#streams.push({ stream, edge, uri });
  }

  async #replace(): Promise<void> {
    const [gone] = this.#streams.splice(this.#below(this.#streams.length), 1);
    if (gone === undefined) return;
    const open = await this.#openAt(gone.edge);
    gone.stream.drop();
    while ((await this.#openAt(gone.edge)) >= open) await wait(5);
    await this.#open(gone.edge);
  }

  async #publish(uri: string, pauseMs: number): Promise<void> {
    const url = `${this.#workerd.edges[ISOLATES]}/publish`;
    await fetch(url, { method: 'POST', body: JSON.stringify({ uris: [uri] }) });
    await wait(pauseMs);
  }

  async #openAt(edge: number): Promise<number> {
    return (await (await fetch(`${this.#workerd.edges[edge]}/open`)).json()) as number;
  }

  /** A pseudo-random number below `end`, the same in each run. */
  #below(end: number): number {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random % end;
  }
}

/** The size of a run. */
export interface Sizes {
  streams: number;
  opens: number;
  changes: number;
  wakes: number;
}

/** A run has a tenth of the streams of the example, at as many shards. */
export const SCALE = 10;
/** Isolates that hold the streams. */
export const ISOLATES = 4;
/** Full shards if each stream has a socket: a shard holds 2,000 streams by default. */
export const SHARDS = 5;
/** The resource that all streams watch. */
const SHARED = resourceUri(0);
const SECOND_MS = 1_000;
/** A Durable Object hibernates after ten idle seconds. */
const ASLEEP_MS = 12_000;
