import { setTimeout } from 'node:timers/promises';
import type { Listener } from './listener.ts';

/** Publishes through edges, and knows what everybody who listens must have heard. */
export class Publisher {
  /** Publishes that the bus took, and those of which nobody knows. */
  readonly counts = { taken: 0, refused: 0 };
  /** What the bus took of each key, in the order in which it said so. */
  readonly #taken = new Map<string, Taken[]>();
  readonly #origins: () => string[];
  #turn = 0;
  #state = 0;
  #stating = Promise.resolve(true);
  #spinning: Promise<void> | undefined;
  #isSpinning = false;

  /** @param origins - the edges that publish, in turn. */
  constructor(origins: () => string[]) {
    this.#origins = origins;
  }

  /**
   * Publishes a change of each key, all in one call; answers whether the bus took them. States of
   * tasks wait for those before them: of two that are under way at once the bus may take the later
   * one first.
   */
  publish(...keys: string[]): Promise<boolean> {
    if (!keys.some(isTask)) return this.#publish(keys);
    this.#stating = this.#stating.then(() => this.#publish(keys));
    return this.#stating;
  }

  async #publish(keys: string[]): Promise<boolean> {
    const began = performance.now();
    const events = keys.map((key) => this.#event(key));
    const isTaken = await this.#post(events);
    this.counts[isTaken ? 'taken' : 'refused'] += keys.length;
    if (isTaken) for (const [place, key] of keys.entries()) this.#took(key, began, events[place]);
    return isTaken;
  }

  /**
   * Publishes one key after the other, `everyMs`, until `stop`: some at once where the bus is slow.
   */
  spin(everyMs: number, next: (count: number) => string): void {
    this.#isSpinning = true;
    this.#spinning = (async () => {
      const flying = new Map<string, Promise<unknown>>();
      for (let count = 0; this.#isSpinning; count += 1) {
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

  /** Stops to spin. */
  async stop(): Promise<void> {
    this.#isSpinning = false;
    await this.#spinning;
  }

  /** What open streams have missed so far: pairs of a stream and a key. */
  missing(listeners: Iterable<Listener>): number {
    let missing = 0;
    for (const listener of listeners)
      if (listener.isOpen) missing += this.missingOf(listener).length;
    return missing;
  }

  /** Resolves with what is still missing once nothing is, or when time is over. */
  async settled(listeners: Iterable<Listener>, ms = 30_000): Promise<number> {
    const until = performance.now() + ms;
    for (;;) {
      const missing = this.missing(listeners);
      if (missing === 0 || performance.now() > until) return missing;
      await setTimeout(50);
    }
  }

  /**
   * The keys of which a stream has missed the last change that the bus had taken at `until`; what
   * began before the acknowledgment was read is not asked for. Exact for tasks, whose cues carry a
   * state. A cue of anything else that is heard after the last publish began may be that of the
   * publish before it: which of the two it is, no client can tell.
   */
  missingOf(
    { acknowledgedAt, heardAt, keys, states }: Listener,
    until = Number.POSITIVE_INFINITY,
  ): string[] {
    return [...keys].filter((key) => {
      const last = this.#taken.get(key)?.findLast(({ resolved }) => resolved <= until);
      if (last === undefined || last.began < acknowledgedAt) return false;
      if (last.state !== undefined) return (states.get(key) ?? 0) < last.state;
      return (heardAt.get(key) ?? 0) < last.began;
    });
  }

  /** The publisher knows of a change that another one published. */
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

  #took(key: string, began: number, event: object | undefined): void {
    const { task } = event as { task?: { statusMessage: string } };
    const state = task === undefined ? undefined : Number(task.statusMessage);
    this.#record(key, { began, resolved: performance.now(), state });
  }

  /** A publish that another one overtook asks for no more than that one does. */
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

/** A publish that the bus took. */
interface Taken {
  /** When it began. */
  began: number;
  /** When the bus had taken it. */
  resolved: number;
  /** The state of a task. */
  state: number | undefined;
}

const AT = '2026-11-21T10:00:00Z';
const STATE = { status: 'working', createdAt: AT, lastUpdatedAt: AT, ttlMs: 60_000 };
/** After so long nobody knows whether the bus took an event. */
const PATIENCE_MS = 15_000;
/** Publishes that are under way together. */
const AT_ONCE = 8;
