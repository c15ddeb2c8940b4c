import { setTimeout } from 'node:timers/promises';
import type { Listener } from './listener.ts';

/** Publishes through edges, and records which cues each stream must have received. */
export class Publisher {
  /** Publishes that the bus accepted, and those that were refused or got no reply. */
  readonly counts = { taken: 0, refused: 0 };
  /** The accepted publishes of each key, in the order of the replies. */
  readonly #taken = new Map<string, Taken[]>();
  readonly #origins: () => string[];
  #turn = 0;
  #state = 0;
  /** The last publish of each task without a reply yet. */
  readonly #stating = new Map<string, Promise<boolean>>();
  #publishing: Promise<void> | undefined;
  #isPublishing = false;

  /** @param origins - the edges that publish, in turn. */
  constructor(origins: () => string[]) {
    this.#origins = origins;
  }

  /**
   * Publishes a change of each key in one call; resolves with whether the bus accepted them. The
   * state of a task waits for the previous state of the same task, because the bus may receive
   * concurrent ones in any order. Everything else begins at once.
   */
  publish(...keys: string[]): Promise<boolean> {
    const tasks = keys.filter(isTask);
    const earlier = tasks.flatMap((task) => this.#stating.get(task) ?? []);
    const publishing =
      earlier.length === 0
        ? this.#publish(keys)
        : Promise.all(earlier).then(() => this.#publish(keys));
    for (const task of tasks) this.#stating.set(task, publishing);
    return publishing.finally(() => {
      for (const task of tasks)
        if (this.#stating.get(task) === publishing) this.#stating.delete(task);
    });
  }

  async #publish(keys: string[]): Promise<boolean> {
    const began = performance.now();
    const events = keys.map((key) => this.#event(key));
    const isTaken = await this.#post(events);
    this.counts[isTaken ? 'taken' : 'refused'] += keys.length;
    if (isTaken) for (const [place, key] of keys.entries()) this.#accept(key, began, events[place]);
    return isTaken;
  }

  /** Publishes one key every `everyMs` until `stop`, up to {@link AT_ONCE} of them concurrently. */
  publishEvery(everyMs: number, next: (count: number) => string): void {
    this.#isPublishing = true;
    this.#publishing = (async () => {
      const flying = new Map<string, Promise<unknown>>();
      for (let count = 0; this.#isPublishing; count += 1) {
        const key = next(count);
        if (flying.size < AT_ONCE && !flying.has(key)) {
          flying.set(
            key,
            this.publish(key).finally(() => flying.delete(key)),
          );
        }
        await setTimeout(everyMs);
      }
      await Promise.all(flying.values());
    })();
  }

  /** Stops {@link publishEvery}. */
  async stop(): Promise<void> {
    this.#isPublishing = false;
    await this.#publishing;
  }

  /** The number of missing cues: pairs of an open stream and a key. */
  missing(listeners: Iterable<Listener>): number {
    let missing = 0;
    for (const listener of listeners)
      if (listener.isOpen) missing += this.missingOf(listener).length;
    return missing;
  }

  /** Waits up to `ms` until no cue is missing; resolves with the number that still is. */
  async settle(listeners: Iterable<Listener>, ms = 30_000): Promise<number> {
    const until = performance.now() + ms;
    for (;;) {
      const missing = this.missing(listeners);
      if (missing === 0 || performance.now() > until) return missing;
      await setTimeout(50);
    }
  }

  /**
   * The keys of which a stream misses the last change that the bus had accepted at `until`, apart
   * from publishes that began before the acknowledgment. Exact for tasks, whose cues have a state.
   * Any other cue after the beginning of the last publish may be that of the publish before it.
   */
  missingOf(
    { acknowledgedAt, receivedAt, keys, states }: Listener,
    until = Number.POSITIVE_INFINITY,
  ): string[] {
    return [...keys].filter((key) => {
      const last = this.#taken.get(key)?.findLast(({ resolved }) => resolved <= until);
      if (last === undefined || last.began < acknowledgedAt) return false;
      if (last.state !== undefined) return (states.get(key) ?? 0) < last.state;
      return (receivedAt.get(key) ?? 0) < last.began;
    });
  }

  /** The time at which the last accepted publish of this key began; undefined without one. */
  beganAt(key: string): number | undefined {
    return this.#taken.get(key)?.at(-1)?.began;
  }

  /** Records a change that another publisher has published. */
  knows(key: string, state?: number): void {
    const now = performance.now();
    this.#record(key, { began: now, resolved: now, state });
  }

  async #post(events: object[]): Promise<boolean> {
    const origins = this.#origins();
    const origin = origins[this.#turn++ % origins.length];
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetch(`${origin}/publish`, {
        method: 'POST',
        body: JSON.stringify(events),
        signal,
      });
      return (await response.json()) as boolean;
    } catch {
      return false;
    }
  }

  #accept(key: string, began: number, event: object | undefined): void {
    const { task } = event as { task?: { statusMessage: string } };
    const state = task === undefined ? undefined : Number(task.statusMessage);
    this.#record(key, { began, resolved: performance.now(), state });
  }

  /** Records a publish; one that was overtaken requires no more than the other. */
  #record(key: string, taken: Taken): void {
    const all = this.#taken.get(key) ?? [];
    const last = all.at(-1);
    const began = Math.max(taken.began, last?.began ?? 0);
    const state = taken.state === undefined ? undefined : Math.max(taken.state, last?.state ?? 0);
    all.push({ ...taken, began, state });
    this.#taken.set(key, all);
  }

  #event(key: string): object {
    if (key === 'tools') return { kind: 'tools_list_changed' };
    if (!isTask(key)) return { kind: 'resource_updated', uri: key };
    this.#state += 1;
    return {
      kind: 'task_status',
      task: { ...STATE, taskId: key, statusMessage: String(this.#state) },
    };
  }
}

function isTask(key: string): boolean {
  return key.startsWith('task');
}

/** A publish that the bus accepted. */
interface Taken {
  /** The time of its beginning. */
  began: number;
  /** The time of its reply. */
  resolved: number;
  /** The state of a task. */
  state: number | undefined;
}

const AT = '2026-11-21T10:00:00Z';
const STATE = { status: 'working', createdAt: AT, lastUpdatedAt: AT, ttlMs: 60_000 };
/** Milliseconds after which a publish without a reply counts as refused. */
const PATIENCE_MS = 15_000;
/** Concurrent publishes. */
const AT_ONCE = 8;
