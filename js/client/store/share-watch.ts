import { ListenError } from '../../model/error.js';
import type { ChangeEvent } from '../../model/event.js';
import { covers, type SubscriptionFilter } from '../../model/filter.js';
import type { SubscriptionRefused } from '../../model/subscription-error.js';
import { now, WakeTimer } from '../clock.js';
import { CoalescedTask, type WatchHandler, type WatchHandlers } from '../watch/handlers.js';
import type { Watch } from '../watch/watch.js';
import type { WatchState } from '../watch-state.js';
import { unionOf, WatchMember } from './members.js';
import { type Store, WritableStore } from './store.js';

/** Opens a watch with `watch` of `mcp-listen/client`, for a target and options of your choice. */
export type OpenWatch = (filter: SubscriptionFilter, handlers: WatchHandlers) => Watch;

/** The state of the watch that is shared. */
export interface SharedStatus {
  /** `stopped` also while no filter is watched. */
  state: WatchState;
  /** What the server honors of all filters together; undefined unless the state is `live`. */
  honored: SubscriptionFilter | undefined;
  /** Why the watch waits or has stopped; undefined otherwise. */
  error: ListenError | undefined;
}

/** What was read last. */
export interface Latest<Data> {
  /** The result of the last read that succeeded; undefined before. */
  data: Data | undefined;
  /** What the last read threw; undefined if it succeeded. */
  error: unknown;
}

/** Options of {@link shareWatch}. */
export interface ShareWatchOptions {
  /**
   * Called when a handler fails, and when `open` throws.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/** One watch for many filters. */
export interface SharedWatch extends AsyncDisposable {
  /** The state of the watch. */
  readonly status: Store<SharedStatus>;
  /**
   * Calls `handler` as `watch` does, for a filter that shares the watch; returns a function that
   * ends this.
   */
  watch(filter: SubscriptionFilter, handler: WatchHandler): () => void;
  /**
   * Returns a store that counts what makes another read necessary: the opening of the watch, each
   * change, and each gap. The filter is watched while the store has subscribers. While it has, the
   * same filter gets the same store.
   */
  changes(filter: SubscriptionFilter): Store<number>;
  /**
   * Returns a store with the last result of `read`, which is called whenever the counter of
   * {@link SharedWatch.changes} would increase, one call at a time.
   */
  latest<Data>(filter: SubscriptionFilter, read: () => Data | Promise<Data>): Store<Latest<Data>>;
  /** Ends the watch permanently. */
  close(): Promise<void>;
}

/**
 * Shares one watch between many filters: it subscribes to all of them together. A filter that needs
 * more opens another watch, and the previous one stays open until the new one is live, so nothing
 * is missed, and only what is new is read.
 *
 * @example
 * ```ts
 * const mcp = shareWatch((filter, handlers) => watch('https://mcp.example/mcp', filter, handlers));
 * const stop = mcp.watch({ toolsListChanged: true }, { tools: () => readTools() });
 * ```
 */
export function shareWatch(open: OpenWatch, options: ShareWatchOptions = {}): SharedWatch {
  return new Sharing(open, options);
}

class Sharing implements SharedWatch {
  readonly status = new WritableStore<SharedStatus>(NO_STATUS);
  readonly #open: OpenWatch;
  readonly #onError: (error: Error) => void;
  readonly #members = new Set<WatchMember>();
  /**
   * The counters with subscribers. There are several of one filter if they were asked for before
   * any of them had subscribers.
   */
  readonly #counters = new Map<string, Set<Store<number>>>();
  #current: Line | undefined;
  /** Replaces `#current` once it is live. */
  #next: Line | undefined;
  /** Previous watches, which stay open until nothing of theirs can be in transit. */
  readonly #former = new Set<Line>();
  readonly #timer = new WakeTimer(() => this.#update());
  /** Until when the watch may subscribe to more than is needed, on the clock of {@link now}. */
  #shrinksAt = 0;
  #isClosed = false;

  constructor(open: OpenWatch, { onError = console.error }: ShareWatchOptions) {
    this.#open = open;
    this.#onError = onError;
  }

  readonly watch = (filter: SubscriptionFilter, handler: WatchHandler): (() => void) => {
    const member = new WatchMember(filter, handler, (cause) =>
      this.#onError(new ListenError('handler-failed', 'a handler of the watch failed', { cause })),
    );
    this.#members.add(member);
    if (this.#current?.watch.state === 'stopped') {
      this.#promote();
      this.#showStatus();
    }
    queueMicrotask(() => {
      const line = this.#current;
      // Calls its handlers for what is live already.
      if (line?.isLive === true && this.#members.has(member))
        member.join(line.filter, line.watch.honored ?? {});
    });
    this.#updateIn(0);
    return () => {
      if (!this.#members.delete(member)) return;
      this.#shrinksAt = now() + SHRINK_MS;
      if (this.#members.size === 0) this.#timer.set(now() + LINGER_MS);
      else this.#updateIn(SHRINK_MS);
    };
  };

  readonly changes = (filter: SubscriptionFilter): Store<number> => {
    const key = JSON.stringify(filter);
    const [known] = this.#counters.get(key) ?? [];
    if (known !== undefined) return known;
    const store: WritableStore<number> = new WritableStore(0, () => {
      const equal = this.#counters.get(key) ?? new Set();
      this.#counters.set(key, equal.add(store));
      const stop = this.watch(filter, () => store.set(store.getSnapshot() + 1));
      return () => {
        stop();
        equal.delete(store);
        if (equal.size === 0) this.#counters.delete(key);
      };
    });
    return store;
  };

  readonly latest = <Data>(
    filter: SubscriptionFilter,
    read: () => Data | Promise<Data>,
  ): Store<Latest<Data>> => {
    const empty: Latest<Data> = { data: undefined, error: undefined };
    // One task for all subscribers, also those that come back: reads do not overlap.
    const task = new CoalescedTask(
      async () => store.set({ data: await read(), error: undefined }),
      (error) => store.set({ ...store.getSnapshot(), error }),
      () => {},
    );
    const store: WritableStore<Latest<Data>> = new WritableStore(empty, () =>
      this.watch(filter, () => task.request()),
    );
    return store;
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#members.clear();
    this.#timer.set(undefined);
    this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #updateIn(ms: number): void {
    if (!this.#isClosed) this.#timer.setBefore(now() + ms);
  }

  /** Opens a watch for what all members need, unless the latest one suffices. */
  #update(): void {
    if (this.#members.size === 0) {
      this.#end();
      return;
    }
    const wanted = unionOf(this.#members);
    const subscribed = (this.#next ?? this.#current)?.filter;
    const isEnough = subscribed !== undefined && covers(subscribed, wanted);
    if (isEnough && covers(wanted, subscribed)) return;
    if (isEnough && now() < this.#shrinksAt) this.#timer.setBefore(this.#shrinksAt);
    else this.#begin(wanted);
  }

  #begin(filter: SubscriptionFilter): void {
    void this.#next?.watch.close();
    this.#next = undefined;
    try {
      const line: Line = {
        filter,
        isLive: false,
        isReplaying: false,
        watch: this.#watchOf(filter, () => line),
      };
      if (this.#current === undefined) this.#current = line;
      else this.#next = line;
      line.watch.subscribe(() => this.#handleStatus(line));
      this.#handleStatus(line);
    } catch (error) {
      this.#onError(error as Error);
    }
  }

  #watchOf(filter: SubscriptionFilter, lineOf: () => Line): Watch {
    const changed = (event: ChangeEvent): void => {
      // The members read what is live when the watch has opened.
      if (lineOf().isReplaying) return;
      const members = [...this.#members];
      const isNamed = members.map((member) => member.changed(event)).includes(true);
      if (!isNamed) for (const member of members) member.changedPart(event);
    };
    return this.#open(filter, {
      tools: () => changed({ kind: 'tools_list_changed' }),
      prompts: () => changed({ kind: 'prompts_list_changed' }),
      resources: () => changed({ kind: 'resources_list_changed' }),
      events: () => changed({ kind: 'events_list_changed' }),
      resource: (uri) => changed({ kind: 'resource_updated', uri }),
      task: (task) => changed({ kind: 'task_status', task }),
    });
  }

  #handleStatus(line: Line): void {
    const { error, state } = line.watch;
    const wasLive = line.isLive;
    line.isLive = state === 'live';
    if (line.isLive && !wasLive) this.#handleLive(line);
    if (line === this.#next) {
      const { filter, isLive } = this.#current ?? line;
      // The caller may not have both. What subscribes to less is not worth a gap.
      const isFull = (error as Partial<SubscriptionRefused> | undefined)?.status === 429;
      if (isFull && !(isLive && covers(filter, line.filter))) this.#drop(this.#promote());
      // A server that refuses more leaves the previous watch as it is.
      else if (isFull || state === 'stopped') {
        this.#next = undefined;
        this.#drop(line);
      }
    }
    if (line === this.#current) this.#showStatus();
  }

  #handleLive(line: Line): void {
    line.isReplaying = true;
    queueMicrotask(() => {
      line.isReplaying = false;
    });
    const former = line === this.#next ? this.#promote() : undefined;
    if (former !== undefined) {
      this.#former.add(former);
      setTimeout(() => this.#drop(former), LINGER_MS);
    }
    const read = former?.isLive === true ? former : undefined;
    for (const member of this.#members)
      member.open(line.watch.honored ?? {}, read?.filter, read?.watch.honored);
  }

  /** Makes `#next` the current watch; returns the previous one. */
  #promote(): Line | undefined {
    const former = this.#current;
    this.#current = this.#next;
    this.#next = undefined;
    return former;
  }

  #showStatus(): void {
    const { state, error, honored } = this.#current?.watch ?? NO_STATUS;
    this.status.set({ state, error, honored });
  }

  #drop(line: Line | undefined): void {
    if (line === undefined) return;
    this.#former.delete(line);
    void line.watch.close();
  }

  #end(): void {
    for (const line of [this.#current, this.#next, ...this.#former]) this.#drop(line);
    this.#current = undefined;
    this.#next = undefined;
    this.#showStatus();
  }
}

/** A watch, and what it subscribes to. */
interface Line {
  filter: SubscriptionFilter;
  watch: Watch;
  isLive: boolean;
  /** Whether it reports what is honored, because it has opened. */
  isReplaying: boolean;
}

const NO_STATUS: SharedStatus = { state: 'stopped', honored: undefined, error: undefined };
/** Milliseconds for which a watch stays open that no filter or another watch needs. */
const LINGER_MS = 2_000;
/** Milliseconds for which the watch subscribes to more than is needed. */
const SHRINK_MS = 30_000;
