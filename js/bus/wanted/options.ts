import { expectAmounts } from '../../model/amount.js';
import type { ServerEvent } from '../../model/event.js';
import type { Topic } from './topic.js';

/**
 * Hooks for what the streams of a bus subscribe to, over all processes or isolates together. For
 * each topic, calls of the two hooks alternate and do not overlap.
 */
export interface WantedOptions {
  /**
   * Called when the first stream subscribes to a topic, before that stream is acknowledged. If it
   * returns false, throws or takes longer than `wantedMs`, the topic is left out of what the
   * stream honors. Over `durableObjectBus` this needs its option `wanted: true`: without it, the
   * hook is called after the acknowledgment, and a refusal leaves nothing out.
   *
   * It is called again, with `isAgain`, when the process or object that called it has restarted or
   * was replaced by another one. Streams are then acknowledged already: if it refuses, they stay
   * open, and it is called again every 30 seconds.
   *
   * @default undefined
   * @example
   * ```ts
   * onWanted: ({ kind }) => kind === 'resource_updated' && startPolling()
   * ```
   */
  onWanted?: (topic: Topic, context: WantedContext) => unknown;
  /**
   * Maximum bytes of the topics for which `onWanted` was called and `onUnwanted` was not: each one
   * counts its bytes plus 256. Beyond it, topics count as refused by `onWanted`, and
   * `onError` receives one error. One caller, identified by name or address, gets at most an eighth
   * of the limit, or 4,096 bytes if that is more: a topic counts for the first caller that wants
   * it. Above half of the limit, a topic without a stream is unwanted at once, not after
   * `unwantedMs`. 0 accepts no topic.
   *
   * @default 33_554_432
   */
  namesBytes?: number;
  /**
   * Called when no stream has subscribed to a topic for `unwantedMs`, or another process has the
   * topic (`isTaken`).
   *
   * @default undefined
   */
  onUnwanted?: (topic: Topic, context: UnwantedContext) => unknown;
  /**
   * Milliseconds without a stream after which a topic is no longer wanted, so that clients that
   * reconnect do not stop and start what the hooks do. At most a second more passes. 0 waits for
   * no client.
   *
   * @default 30_000
   */
  unwantedMs?: number;
  /**
   * Milliseconds that a stream waits for `onWanted`. Clients wait for the acknowledgment. 0
   * disables: streams wait until it has returned.
   *
   * @default 3_000
   */
  wantedMs?: number;
}

/** What both hooks of {@link WantedOptions} receive with a topic. */
export interface HookContext {
  /** The name of the bus object; undefined for buses of processes. */
  bus: string | undefined;
  /** Publishes an event on the bus. */
  publish: (event: ServerEvent) => Promise<unknown>;
}

/** What `onWanted` receives with a topic. */
export interface WantedContext extends HookContext {
  /**
   * Whether streams have this topic already: `onWanted` was called for it before, by another
   * process or before a restart, and changes may have been missed since.
   */
  isAgain: boolean;
}

/** What `onUnwanted` receives with a topic. */
export interface UnwantedContext extends HookContext {
  /**
   * Whether the topic is still wanted, and the `onWanted` of another process was called for it: end
   * what runs in this process, and leave what is registered at other systems.
   */
  isTaken: boolean;
}

/**
 * Returns the options with their defaults.
 *
 * @throws ListenError `invalid-options`.
 */
export function wantedOptions({
  namesBytes = 33_554_432,
  onUnwanted = () => {},
  onWanted = () => {},
  unwantedMs = 30_000,
  wantedMs = 3_000,
}: WantedOptions): Required<WantedOptions> {
  expectAmounts('wanted', { namesBytes, unwantedMs, wantedMs });
  return { namesBytes, onUnwanted, onWanted, unwantedMs, wantedMs };
}
