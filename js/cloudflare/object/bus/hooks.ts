import { HookedTopics } from '../../../bus/wanted/hooked-topics.js';
import { type WantedOptions, wantedOptions } from '../../../bus/wanted/options.js';
import type { WantedChange } from '../../../bus/wanted/wanted-change.js';
import { ListenError } from '../../../model/error.js';
import type { ServerEvent } from '../../../model/event.js';
import { report } from '../../../observe/on-error.js';
import type { BusWatcher, WatchedBus } from './watcher.js';

/** The bus as its hooks see it. */
export interface HookedBus extends WatchedBus {
  /** Returns whether any stream subscribes to the topic with this text. */
  wants(topic: string): boolean;
  /** Returns what streams have begun or ceased to subscribe to since the last call. */
  wantedChange(): WantedChange;
}

/**
 * Calls the hooks for what the streams of a bus subscribe to. The object stores for which topics it
 * has called `onWanted`, so that `onUnwanted` follows after an eviction too.
 */
export class BusHooks implements BusWatcher {
  readonly #sql: SqlStorage;
  readonly #bus: HookedBus;
  readonly #hooks: HookedTopics;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether servers ask before they acknowledge, or it was reported that they do not. */
  #isAsked = false;

  /** @throws ListenError `invalid-options`. */
  constructor(sql: SqlStorage, name: string, bus: HookedBus, wanted: WantedOptions) {
    sql.exec('CREATE TABLE IF NOT EXISTS wanted (topic TEXT PRIMARY KEY) WITHOUT ROWID');
    this.#sql = sql;
    this.#bus = bus;
    this.#hooks = new HookedTopics({
      hooks: wantedOptions(wanted),
      context: {
        bus: name,
        publish: (event: ServerEvent) => bus.publishAll([JSON.stringify(event)]),
      },
      demand: {
        isWanted: (topic) => bus.wants(topic),
        isMine: () => true,
        isTaken: () => false,
        isElsewhere: () => false,
        isAgain: false,
      },
      onError: report,
      onBegin: (topic) => void sql.exec('INSERT OR IGNORE INTO wanted VALUES (?)', topic),
      onEnd: (topic) => void sql.exec('DELETE FROM wanted WHERE topic = ?', topic),
      onLateRefusal: () => this.#reportUnasked(),
      onDue: () => this.wantedChanged(),
      graceMs: GRACE_MS,
    });
    for (const { topic } of sql.exec<{ topic: string }>('SELECT topic FROM wanted'))
      this.#hooks.restore(topic);
  }

  /** Whether the hooks may have been called for a topic that is not wanted any more. */
  get isDue(): boolean {
    return this.#sql.exec('SELECT 1 FROM wanted LIMIT 1').toArray().length > 0;
  }

  /** Resolves with those topics that a stream of a caller may not have. */
  async want(topics: readonly string[], caller: string | undefined): Promise<string[]> {
    this.#isAsked = true;
    const now = performance.now();
    const decisions = await Promise.all(
      topics.map((topic) => this.#hooks.want(topic, now, { caller })),
    );
    await this.#bus.wakeBy(Date.now() + CHECK_MS);
    return topics.filter((_topic, index) => !decisions[index]);
  }

  wantedChanged(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sweep().catch(report);
    }, SETTLE_MS);
  }

  async alarm(): Promise<void> {
    await this.#sweep();
  }

  /** Reports once that no server asks before it acknowledges what `onWanted` refuses. */
  #reportUnasked(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const text = 'streams have a topic that onWanted refuses: create the bus with wanted: true';
    report(new ListenError('wanted-failed', text));
  }

  async #sweep(): Promise<void> {
    const { isWhole, topics } = this.#bus.wantedChange();
    if (isWhole) this.#hooks.changeAll();
    this.#hooks.change(topics);
    const now = performance.now();
    const { next } = this.#hooks.sweep(now);
    // After an eviction the alarm calls `onWanted` again.
    if (next !== undefined || this.isDue)
      await this.#bus.wakeBy(Date.now() + Math.min((next ?? NEVER) - now, CHECK_MS));
  }
}

const NEVER = Number.POSITIVE_INFINITY;
/** Milliseconds for which changes of the streams are collected. */
const SETTLE_MS = 250;
/** Milliseconds between two checks while anything is wanted. */
const CHECK_MS = 60_000;
/** Milliseconds within which a stream that was granted a topic reaches the bus. */
const GRACE_MS = 10_000;
