import { setTimeout } from 'node:timers/promises';
import { longestWait } from '../host/processor.ts';
import { Listener, type Watched } from './clients/listener.ts';
import { Publisher } from './clients/publisher.ts';
import { measureHealing, type Spread, spread } from './judgement/heal.ts';
import type { Holding, World } from './world.ts';

/** The streams of a scenario. */
export interface ScenarioStreams {
  /** Streams in the whole set that are open when the fault begins. */
  streams: number;
  /** The same in the short set; a scenario without this number is not in it. */
  short?: number;
  /** Streams that `run` opens itself, in either set. Default: none. */
  opens?: { short: number; whole: number };
  /** Whether streams also follow tasks, whose states cannot be replayed beyond the log. */
  hasTasks?: boolean;
}

/** A moment from which streams heal. */
export interface Moment {
  /** Its time by `performance.now`. */
  since: number;
  /** Milliseconds that each process had waited for a processor by then. */
  waits: number[];
}

/** The processes, clients and publisher of a scenario. */
export class Stage {
  readonly world: World;
  readonly publisher: Publisher;
  /** All clients so far. */
  readonly listeners: Listener[] = [];
  /** Milliseconds from the return of the bus to a cue of each key of each stream. */
  readonly healMs: number[] = [];
  /** The times of a publish before the fault. */
  calm: Spread | undefined;
  /** The times of a publish after the streams have healed. */
  healed: Spread | undefined;
  /** Connections to the bus and its shards before the fault. */
  attached = 0;
  /** The longest wait of a process for a processor while streams healed, in milliseconds. */
  machineMs = 0;
  /** Streams that were requested at the beginning. */
  requested = 0;
  /** Streams that the fault itself opens. */
  readonly opens: number;
  /** Whether this is the whole set, not the short one. */
  readonly isWhole: boolean;
  /** A remark for the result. */
  note: string | undefined;
  /** The sums of dismissed listeners. */
  readonly passed = { streams: 0, missing: 0, early: 0, foreign: 0, inversions: 0 };
  /** The refusals of dismissed listeners, by status. */
  readonly #refusals = new Map<number, number>();
  readonly #dropped = new Set<Listener>();
  #endedBefore = 0;
  #refusedBefore: number | undefined;
  readonly #hasTasks: boolean;
  readonly #fresh: Holding;

  private constructor(world: World, scenario: ScenarioStreams, isWhole: boolean, fresh: Holding) {
    this.world = world;
    this.publisher = new Publisher(() => world.origins);
    this.isWhole = isWhole;
    this.opens = scenario.opens?.[isWhole ? 'whole' : 'short'] ?? 0;
    this.#hasTasks = scenario.hasTasks ?? true;
    this.#fresh = fresh;
  }

  /**
   * Opens the streams of the scenario. If the fault opens them itself, this opens three at each
   * edge and drops them: the second one runs the write probe, and the third one shows its result.
   */
  static async start(world: World, scenario: ScenarioStreams, isWhole: boolean): Promise<Stage> {
    const stage = new Stage(world, scenario, isWhole, await world.holding());
    stage.requested = (isWhole ? scenario.streams : scenario.short) ?? 0;
    const isProbed = stage.requested === 0 && world.sockets === 'auto';
    await stage.addStreams(isProbed ? 6 : stage.requested);
    stage.attached = (await world.busStats()).attached;
    if (isProbed) await stage.#dropAll();
    return stage;
  }

  /** The open streams. */
  get open(): Listener[] {
    return this.listeners.filter(({ isOpen }) => isOpen);
  }

  /** The number of streams that ended without being dropped by their client. */
  get ended(): number {
    return this.listeners.filter((each) => this.#hasEnded(each)).length + this.#endedBefore;
  }

  /** Requests for streams without the reply 200, by status; 0 stands for no reply. */
  get refusals(): Record<string, number> {
    const counts = new Map(this.#refusals);
    for (const listener of this.listeners)
      if (this.#isRefused(listener)) count(counts, listener.status);
    return Object.fromEntries(counts);
  }

  /** Publishes that were refused after the streams had healed. */
  get refusedLater(): number {
    const { refused } = this.publisher.counts;
    return refused - (this.#refusedBefore ?? refused);
  }

  /** The option `sockets`, and the number of connections to the bus and its shards. */
  get sockets(): string {
    return `${this.world.sockets}: ${this.attached}`;
  }

  /**
   * Opens streams at the edges in turn, a hundred at a time. The first one of each edge opens
   * before the others, because it owns the shared connection. The second one of each edge runs the
   * write probe.
   */
  async addStreams(count: number): Promise<void> {
    const first = this.listeners.length === 0 ? [2, 2] : [];
    let left = count;
    for (const size of first) {
      await this.#openBatch(Math.min(size, left));
      left -= Math.min(size, left);
    }
    for (; left > 0; left -= BATCH) await this.#openBatch(Math.min(BATCH, left));
  }

  /** Opens one stream. */
  listen(origin?: string): Listener {
    const place = this.listeners.length;
    const listener = new Listener(
      `${origin ?? this.world.origins[place % 2]}/mcp`,
      this.watched(place),
    );
    this.listeners.push(listener);
    return listener;
  }

  /** Opens a stream, again with longer waits while it is refused; resolves with the refusals. */
  async reconnect(origin?: string): Promise<number> {
    for (let refused = 0; ; refused += 1) {
      const listener = this.listen(origin);
      await listener.begun;
      if (listener.isOpen) return refused;
      if (listener.status !== 503 || refused > 20)
        throw new Error(`a client was refused with ${listener.status}`);
      await setTimeout(RETRY_AFTER_MS * 2 ** Math.min(refused, 3) * (0.5 + Math.random()));
    }
  }

  /** The filter of the stream at this place: its own URI, and the topics of all streams. */
  watched(place: number): Watched {
    const uris = [ownUri(place), ...SHARED, BACK];
    const tasks = this.#hasTasks ? { taskIds: [TASK] } : {};
    return { toolsListChanged: true, resourceSubscriptions: uris, ...tasks };
  }

  /** Publishes every `everyMs` from now on, for one stream and for all in turn. */
  keepPublishing(everyMs = 50): void {
    this.publisher.publishEvery(everyMs, (count) => this.#key(count));
  }

  /** A moment before a fault, from which {@link heal} measures. */
  async moment(): Promise<Moment> {
    const waits = await this.world.waits();
    return { since: performance.now(), waits };
  }

  /**
   * Measures the time from the return of the bus to a cue of each key of each stream. Without a
   * moment, the bus has returned when this is called.
   */
  async heal(from?: Moment, isJudged = (_: Listener) => true): Promise<void> {
    const now = performance.now();
    const { since, waits } = from ?? { since: now, waits: await this.world.waits() };
    this.healMs.push(...(await measureHealing(this.publisher, this.open.filter(isJudged), since)));
    this.machineMs = Math.max(this.machineMs, longestWait(waits, await this.world.waits()));
    this.#refusedBefore = this.publisher.counts.refused;
  }

  /** Measures the same from the beginning of a publish; undefined without open streams. */
  async measurePublish(): Promise<Spread | undefined> {
    if (this.open.length === 0) return undefined;
    return spread(await measureHealing(this.publisher, this.open, performance.now()));
  }

  /** Drops the stream of a client. */
  drop(listener: Listener): void {
    if (!listener.isOver) this.#dropped.add(listener);
    listener.drop();
  }

  /** Drops a listener, and keeps only its counts; a refused one is no stream. */
  dismiss(listener: Listener): void {
    if (this.#isRefused(listener)) count(this.#refusals, listener.status);
    else this.passed.streams += 1;
    if (this.#hasEnded(listener)) this.#endedBefore += 1;
    listener.drop();
    for (const count of ['early', 'foreign', 'inversions'] as const)
      this.passed[count] += listener[count];
  }

  /** Leaves the bus without requests until it hibernates. */
  async idle(): Promise<void> {
    await setTimeout(IDLE_MS);
    // A process that was not running until now has yet to let the object hibernate.
    await this.world.untilBusRuns();
  }

  /** Whether the bus hibernates with its open streams, and wakes once to deliver to all of them. */
  async hibernates(): Promise<boolean> {
    const wakes = await this.world.call<number>('wakes');
    await this.idle();
    await this.publisher.publish('tools');
    const missing = await this.publisher.settle(this.open);
    return missing === 0 && (await this.world.call('wakes')) === wakes + 1;
  }

  /** Drops all clients; resolves with what the processes hold after up to 20 seconds. */
  async left(): Promise<Holding> {
    for (const listener of this.listeners) listener.drop();
    for (let round = 0; ; round += 1) {
      const { descriptors, ...held } = await this.world.holding();
      const left = { ...held, descriptors: Math.max(descriptors - this.#fresh.descriptors, 0) };
      const isOver = Object.values(left).every((count) => count === 0);
      if (round === ROUNDS || isOver) return left;
      await setTimeout(LOOK_MS);
    }
  }

  /**
   * Drops all clients, and forgets them; resolves once no edge has a stream or a connection. Until
   * then an edge may still hand its connection over to a stream whose client is gone.
   */
  async #dropAll(): Promise<void> {
    for (const listener of this.listeners.splice(0)) this.drop(listener);
    for (;;) {
      const { attached, streams, tunnels } = await this.world.holding();
      if (attached + streams + tunnels === 0) return;
      await setTimeout(LOOK_MS);
    }
  }

  async #openBatch(count: number): Promise<void> {
    const batch = Array.from({ length: count }, () => this.listen());
    await Promise.all(batch.map(({ begun }) => begun));
  }

  #isRefused(listener: Listener): boolean {
    const { isAcknowledged, isOver, status } = listener;
    if (this.#dropped.has(listener) || isAcknowledged) return false;
    return isOver || (status !== 0 && status !== 200);
  }

  #hasEnded(listener: Listener): boolean {
    return listener.isAcknowledged && listener.isOver && !this.#dropped.has(listener);
  }

  #key(count: number): string {
    const turn = Math.floor(count / 8);
    if (count % 8 === 0) return SHARED[turn % SHARED.length] ?? 'tools';
    if (count % 8 === 4) return this.#hasTasks && turn % 2 === 0 ? TASK : 'tools';
    return ownUri((count * 7) % Math.max(this.listeners.length, 1));
  }
}

function count(counts: Map<number, number>, status: number): void {
  counts.set(status, (counts.get(status) ?? 0) + 1);
}

/** The URI that only the stream at this place follows. */
export function ownUri(place: number): string {
  return `own://${place}`;
}

const SHARED = Array.from({ length: 20 }, (_, place) => `shared://${place}`);
const BACK = 'shared://back';
/** The task that all streams follow. */
export const TASK = 'task';
const BATCH = 100;
/** Objects hibernate after ten idle seconds. */
const IDLE_MS = 12_500;
/** The Retry-After of a 503, in milliseconds. */
const RETRY_AFTER_MS = 2_000;
/** Rounds in which `left` looks, {@link LOOK_MS} apart. */
const ROUNDS = 80;
const LOOK_MS = 250;
