import { setTimeout } from 'node:timers/promises';
import type { Listener } from './listener.ts';

/** Publishes through edges, and knows what everybody who listens must have heard. */
export class Publisher {
  /** Publishes that the bus took, and those of which nobody knows. */
  readonly counts = { taken: 0, refused: 0 };
  /** When the last publish that the bus took of each key began. */
  readonly #takenAt = new Map<string, number>();
  readonly #states = new Map<string, number>();
  readonly #origins: () => string[];
  #turn = 0;
  #state = 0;
  #spinning: Promise<void> | undefined;
  #isSpinning = false;

  /** @param origins - the edges that publish, in turn. */
  constructor(origins: () => string[]) {
    this.#origins = origins;
  }

  /** Publishes a change of each key, all in one call; answers whether the bus took them. */
  async publish(...keys: string[]): Promise<boolean> {
    const began = performance.now();
    const events = keys.map((key) => this.#event(key));
    const isTaken = await this.#post(events);
    this.counts[isTaken ? 'taken' : 'refused'] += keys.length;
    if (isTaken) for (const [place, key] of keys.entries()) this.#took(key, began, events[place]);
    return isTaken;
  }

  /** Publishes one key after the other, `everyMs`, until `stop`: some at once where the bus is slow, a task's states in turn. */
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
    for (const listener of listeners) if (listener.isOpen) missing += this.missingOf(listener).length;
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

  /** The keys whose last change a stream has not heard of; its client has read what changed before the acknowledgment. */
  missingOf({ acknowledgedAt, heardAt, keys, states }: Listener, until = Number.POSITIVE_INFINITY): string[] {
    return [...keys].filter((key) => {
      const takenAt = this.#takenAt.get(key) ?? 0;
      if (takenAt <= acknowledgedAt || takenAt > until) return false;
      const state = this.#states.get(key);
      return state === undefined ? (heardAt.get(key) ?? 0) < takenAt : (states.get(key) ?? 0) < state;
    });
  }

  /** The publisher knows of a change that another one published. */
  knows(key: string, state?: number): void {
    this.#takenAt.set(key, performance.now());
    if (state !== undefined) this.#states.set(key, state);
  }

  async #post(events: object[]): Promise<boolean> {
    const origins = this.#origins();
    const origin = origins[this.#turn++ % origins.length];
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetch(`${origin}/publish`, { method: 'POST', body: JSON.stringify(events), signal });
      return (await response.json()) as boolean;
    } catch {
      return false;
    }
  }

  #took(key: string, began: number, event: object | undefined): void {
    this.#takenAt.set(key, Math.max(began, this.#takenAt.get(key) ?? 0));
    const { task } = event as { task?: { statusMessage: string } };
    if (task !== undefined) this.#states.set(key, Math.max(Number(task.statusMessage), this.#states.get(key) ?? 0));
  }

  #event(key: string): object {
    if (key === 'tools') return { kind: 'tools_list_changed' };
    if (!key.startsWith('task')) return { kind: 'resource_updated', uri: key };
    this.#state += 1;
    return { kind: 'task_status', task: { ...STATE, taskId: key, statusMessage: String(this.#state) } };
  }
}

const AT = '2026-11-21T10:00:00Z';
const STATE = { status: 'working', createdAt: AT, lastUpdatedAt: AT, ttlMs: 60_000 };
/** After so long nobody knows whether the bus took an event. */
const PATIENCE_MS = 15_000;
/** Publishes that are under way together. */
const AT_ONCE = 8;
