import { setTimeout } from 'node:timers/promises';
import { Listener, type Watched } from './clients/listener.ts';
import { Publisher } from './clients/publisher.ts';
import { healing, type Spread, spread } from './judgement/heal.ts';
import type { Scenario } from './scenario.ts';
import type { Holding, World } from './world.ts';

/**
 * Where a scenario plays: the processes, a crowd of clients, and a publisher that does not rest.
 */
export class Stage {
  readonly world: World;
  readonly publisher: Publisher;
  /** Every client that ever listened. */
  readonly listeners: Listener[] = [];
  /** Milliseconds from the return of the bus to a cue of each key of each stream. */
  readonly healMs: number[] = [];
  /** The slowest of the times of a publish with no fault. */
  calm: Spread | undefined;
  /** Connections that the bus and its shards had when all these were open. */
  attached = 0;
  /** Milliseconds for which the process that waited longest could not run while streams healed. */
  machineMs = 0;
  /** Streams that were asked for at the beginning. */
  asked = 0;
  /** Whether this is the whole set and not the short one. */
  readonly isWhole: boolean;
  /** What else is to be told of the run. */
  note: string | undefined;
  /** What short-lived listeners have counted, of whom there are too many to keep. */
  readonly passed = { streams: 0, missing: 0, early: 0, foreign: 0, inversions: 0 };
  /** Requests for streams that were refused, of those that `dismiss` has forgotten. */
  readonly #refusals = new Map<number, number>();
  readonly #dropped = new Set<Listener>();
  #endedBefore = 0;
  #refusedBefore: number | undefined;
  readonly #hasTasks: boolean;
  readonly #fresh: Holding;

  private constructor(world: World, scenario: Scenario, isWhole: boolean, fresh: Holding) {
    this.world = world;
    this.publisher = new Publisher(() => world.origins);
    this.isWhole = isWhole;
    this.#hasTasks = scenario.hasTasks ?? true;
    this.#fresh = fresh;
  }

  /** Sets the stage with as many streams as the scenario wants. */
  static async set(world: World, scenario: Scenario, isWhole: boolean): Promise<Stage> {
    const stage = new Stage(world, scenario, isWhole, await world.holding());
    stage.asked = (isWhole ? scenario.streams : scenario.short) ?? 0;
    await stage.enter(stage.asked);
    return stage;
  }

  /** The streams that are open. */
  get open(): Listener[] {
    return this.listeners.filter(({ isOpen }) => isOpen);
  }

  /** Streams that are over and that no client dropped. */
  get ended(): number {
    return this.listeners.filter((each) => this.#hasEnded(each)).length + this.#endedBefore;
  }

  /**
   * Requests for streams that were not answered with 200, by status; 0 where there was no answer.
   */
  get refusals(): Record<string, number> {
    const counts = new Map(this.#refusals);
    for (const listener of this.listeners)
      if (this.#isRefused(listener)) count(counts, listener.status);
    return Object.fromEntries(counts);
  }

  /** Publishes that were refused since all streams had healed. */
  get refusedLater(): number {
    const { refused } = this.publisher.counts;
    return refused - (this.#refusedBefore ?? refused);
  }

  /** The option `sockets`, and how many connections the bus and its shards have. */
  async sockets(): Promise<string> {
    this.attached = (await this.world.busStats()).attached;
    return `${this.world.sockets}: ${this.attached}`;
  }

  /**
   * Opens further streams, a hundred at a time, at the edges in turn. The first two come before the
   * others: where streams share a connection, the first one of an edge owns it. With the second two
   * each edge tries whether they can.
   */
  async enter(count: number): Promise<void> {
    const first = this.listeners.length === 0 ? [2, 2] : [];
    let left = count;
    for (const size of first) {
      await this.#opened(Math.min(size, left));
      left -= Math.min(size, left);
    }
    for (; left > 0; left -= BATCH) await this.#opened(Math.min(BATCH, left));
  }

  /** Opens one stream of the crowd. */
  listen(origin?: string): Listener {
    const place = this.listeners.length;
    const listener = new Listener(
      `${origin ?? this.world.origins[place % 2]}/mcp`,
      this.watched(place),
    );
    this.listeners.push(listener);
    return listener;
  }

  /**
   * A client asks until it is let in, and waits longer each time; answers how often it was refused.
   */
  async comeBack(origin?: string): Promise<number> {
    for (let refused = 0; ; refused += 1) {
      const listener = this.listen(origin);
      await listener.begun;
      if (listener.isOpen) return refused;
      if (listener.status !== 503 || refused > 20)
        throw new Error(`a client was refused with ${listener.status}`);
      await setTimeout(RETRY_AFTER_MS * 2 ** Math.min(refused, 3) * (0.5 + Math.random()));
    }
  }

  /** What the stream of this place watches: something of its own, and what all watch. */
  watched(place: number): Watched {
    const uris = [ownUri(place), ...SHARED, BACK];
    const tasks = this.#hasTasks ? { taskIds: [TASK] } : {};
    return { toolsListChanged: true, resourceSubscriptions: uris, ...tasks };
  }

  /** Publishes from now on, something every `everyMs`: now for one stream, now for all. */
  spin(everyMs = 50): void {
    this.publisher.spin(everyMs, (count) => this.#key(count));
  }

  /**
   * The bus is back: measures how long it takes each stream to hear of each key, and waits for all
   * of them.
   */
  async healed(since = performance.now(), isJudged = (_: Listener) => true): Promise<void> {
    const before = await this.world.waits();
    this.healMs.push(...(await healing(this.publisher, this.open.filter(isJudged), since)));
    const waited = (await this.world.waits()).map((ms, place) => ms - (before[place] ?? ms));
    this.machineMs = Math.max(this.machineMs, ...waited);
    this.#refusedBefore = this.publisher.counts.refused;
  }

  /** Measures the same with no fault. */
  async calmed(): Promise<void> {
    if (this.open.length === 0) return;
    const now = spread(await healing(this.publisher, this.open, performance.now()));
    const { calm = now } = this;
    this.calm = {
      median: Math.max(calm.median, now.median),
      p99: Math.max(calm.p99, now.p99),
      max: Math.max(calm.max, now.max),
    };
  }

  /** A client leaves. */
  drop(listener: Listener): void {
    if (!listener.isOver) this.#dropped.add(listener);
    listener.drop();
  }

  /** Counts a listener that goes, and forgets it. */
  dismiss(listener: Listener): void {
    if (this.#isRefused(listener)) count(this.#refusals, listener.status);
    if (this.#hasEnded(listener)) this.#endedBefore += 1;
    listener.drop();
    this.passed.streams += 1;
    for (const count of ['early', 'foreign', 'inversions'] as const)
      this.passed[count] += listener[count];
  }

  /**
   * Whether the bus hibernates now with the streams that are open, and then wakes once to tell all
   * of them something.
   */
  async hibernates(): Promise<boolean> {
    const wakes = await this.world.call<number>('wakes');
    await setTimeout(IDLE_MS);
    await this.publisher.publish('tools');
    const missing = await this.publisher.settled(this.open);
    return missing === 0 && (await this.world.call('wakes')) === wakes + 1;
  }

  /**
   * Drops all clients; resolves with what the processes still hold when nothing changes any more.
   */
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

  async #opened(count: number): Promise<void> {
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

/** What only the stream of this place watches. */
export function ownUri(place: number): string {
  return `own://${place}`;
}

const SHARED = Array.from({ length: 20 }, (_, place) => `shared://${place}`);
const BACK = 'shared://back';
/** The task that all streams watch. */
export const TASK = 'task';
const BATCH = 100;
/** Objects hibernate after ten seconds without anything to do. */
const IDLE_MS = 12_500;
/** What a 503 says. */
const RETRY_AFTER_MS = 2_000;
/** Looks at what is left: for 20 seconds. */
const ROUNDS = 80;
const LOOK_MS = 250;
