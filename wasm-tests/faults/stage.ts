import { setTimeout } from 'node:timers/promises';
import { Listener, type Watched } from './listener.ts';
import { Publisher } from './publisher.ts';
import type { Scenario } from './scenario.ts';
import { type Holding, IDLE, type World } from './world.ts';

/** Where a scenario plays: the processes, a crowd of clients, and a publisher that does not rest. */
export class Stage {
  readonly world: World;
  readonly publisher: Publisher;
  /** Every client that ever listened. */
  readonly listeners: Listener[] = [];
  /** Milliseconds from the return of the bus to the first event of each stream. */
  readonly healMs: number[] = [];
  /** Whether this is the whole set and not the short one. */
  readonly isWhole: boolean;
  /** What else is to be told of the run. */
  note: string | undefined;
  /** What short-lived listeners have counted, of whom there are too many to keep. */
  readonly passed = { streams: 0, missing: 0, early: 0, foreign: 0, inversions: 0 };
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
    await stage.enter((isWhole ? scenario.streams : scenario.short) ?? 0);
    return stage;
  }

  /** The streams that are open. */
  get open(): Listener[] {
    return this.listeners.filter(({ isOpen }) => isOpen);
  }

  /** Opens further streams, a hundred at a time, at the edges in turn. */
  async enter(count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, count - opened) }, () => this.listen());
      await Promise.all(batch.map(({ begun }) => begun));
    }
  }

  /** Opens one stream of the crowd. */
  listen(origin?: string): Listener {
    const place = this.listeners.length;
    const listener = new Listener(`${origin ?? this.world.origins[place % 2]}/mcp`, this.watched(place));
    this.listeners.push(listener);
    return listener;
  }

  /** A client asks until it is let in, and waits longer each time; answers how often it was refused. */
  async comeBack(origin?: string): Promise<number> {
    for (let refused = 0; ; refused += 1) {
      const listener = this.listen(origin);
      await listener.begun;
      if (listener.isOpen) return refused;
      if (listener.status !== 503 || refused > 20) throw new Error(`a client was refused with ${listener.status}`);
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

  /** The bus is back: measures how long it takes each open stream to hear of it, and waits for all of them. */
  async healed(since = performance.now()): Promise<void> {
    const waiting = new Set(this.open);
    for (const listener of waiting) {
      listener.onCue = (key, at) => {
        if (key !== BACK || !waiting.delete(listener)) return;
        this.healMs.push(at - since);
        listener.onCue = undefined;
      };
    }
    while (!(await this.publisher.publish(BACK))) await setTimeout(20);
    const until = performance.now() + 60_000;
    while (waiting.size > 0 && performance.now() < until) {
      for (const listener of waiting) if (listener.isOver) waiting.delete(listener);
      await setTimeout(50);
    }
  }

  /** Counts a listener that goes, and forgets it. */
  dismiss(listener: Listener): void {
    listener.drop();
    this.passed.streams += 1;
    for (const count of ['early', 'foreign', 'inversions'] as const) this.passed[count] += listener[count];
  }

  /** Whether the bus hibernates now with the streams that are open, and then wakes once to tell all of them something. */
  async hibernates(): Promise<boolean> {
    const wakes = await this.world.call<number>('wakes');
    await setTimeout(IDLE_MS);
    await this.publisher.publish('tools');
    const missing = await this.publisher.settled(this.open);
    return missing === 0 && (await this.world.call('wakes')) === wakes + 1;
  }

  /** Drops all clients; resolves with what the processes still hold when nothing changes any more. */
  async left(): Promise<Holding> {
    for (const listener of this.listeners) listener.drop();
    for (let round = 0; ; round += 1) {
      const { descriptors, ...held } = await this.world.holding();
      const left = { ...held, descriptors: Math.max(descriptors - this.#fresh.descriptors, 0) };
      const isOver = Object.values(held).every((count) => count === 0) && left.descriptors <= (this.isWhole ? 0 : IDLE);
      if (round === ROUNDS || isOver) return left;
      await setTimeout(500);
    }
  }

  #key(count: number): string {
    const turn = Math.floor(count / 8);
    if (count % 8 === 0) return SHARED[turn % SHARED.length] ?? 'tools';
    if (count % 8 === 4) return this.#hasTasks && turn % 2 === 0 ? TASK : 'tools';
    return ownUri((count * 7) % Math.max(this.listeners.length, 1));
  }
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
/** Half seconds that sockets have to close. */
const ROUNDS = 120;
