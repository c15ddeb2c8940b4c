import {
  DeliverPolicy,
  JetStreamApiCodes,
  type JetStreamManager,
  type JsMsg,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { BrokerListener } from '../../bus/broker/broker.js';
import { untilAborted } from '../../timing/aborted.js';
import { pause } from '../../timing/keep-trying.js';
import { Thresholds } from '../../timing/thresholds.js';
import { codeOf, hasNoResponders, KeptStream, NANOSECONDS } from './stream.js';

/** How much the stream of a {@link JetStreamLog} keeps, if the log creates it. */
export interface JetStreamLogOptions {
  logEvents: number;
  logAgeMs: number;
}

/** A JetStream stream with the events of one bus. */
export class JetStreamLog {
  readonly stream: KeptStream;
  #cursor: Cursor | undefined;
  readonly #sequences = new Thresholds(() => this.#cursor?.sequence ?? 0);

  constructor(name: string, options: JetStreamLogOptions) {
    const { logAgeMs: ageMs, logEvents: messages } = options;
    this.stream = new KeptStream(name, { ageMs, messages });
  }

  /** Whether the stream was ever followed. */
  get isKnown(): boolean {
    return this.#cursor !== undefined;
  }

  /** Follows the stream from the last position, until `stopped` aborts. */
  async follow(
    manager: JetStreamManager,
    listener: BrokerListener,
    stopped: AbortSignal,
  ): Promise<void> {
    const info = await this.stream.provide(manager);
    const { isContiguous, cursor } = this.#resume(info);
    // The last message is delivered again: it shows whether the stream is the same one.
    const first = has(info, cursor.sequence) ? cursor.sequence : cursor.sequence + 1;
    const from = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: first };
    const consumer = await manager.jetstream().consumers.get(this.stream.name, from);
    if (stopped.aborted) return;
    // Set only now: if following fails before `onReady`, the next attempt must still report the
    // gap.
    this.#cursor = cursor;
    listener.onReady({ isContiguous });
    const callback = (message: JsMsg): void => this.#handleMessage(cursor, message, listener);
    const messages = await consumer.consume({ callback, abort_on_missing_resource: true });
    const ended = new AbortController();
    try {
      await Promise.race([
        untilAborted(stopped),
        messages.closed().then(throwGone),
        this.#keepChecking(manager, cursor, listener, ended.signal),
      ]);
    } finally {
      ended.abort();
      messages.stop();
    }
  }

  /** Resolves when everything that the stream contains at the time of the call was received. */
  async receivedAll(manager: JetStreamManager): Promise<void> {
    const { state } = await manager.streams.info(this.stream.name);
    await this.#sequences.reached(state.last_seq);
  }

  /**
   * Returns where to continue: after the last message, if the stream has what follows, otherwise at
   * its end.
   */
  #resume(info: StreamInfo): { isContiguous: boolean; cursor: Cursor } {
    const former = this.#cursor;
    if (former !== undefined && continues(former, info))
      return { isContiguous: true, cursor: former };
    const { created, state } = info;
    const sequence = state.last_seq;
    const at = has(info, sequence) ? undefined : NEVER;
    return { isContiguous: false, cursor: { created, sequence, at, checkedAt: Date.now() } };
  }

  #handleMessage(cursor: Cursor, message: JsMsg, listener: BrokerListener): void {
    const at = message.time.getTime();
    if (message.seq === cursor.sequence && at === (cursor.at ?? at)) {
      cursor.at = at;
      return;
    }
    if (message.seq !== cursor.sequence + 1) listener.onGap();
    cursor.sequence = message.seq;
    cursor.at = at;
    listener.onEvents(message.string());
    this.#sequences.check();
  }

  /** Checks the stream every ten seconds, and within a second after the process was suspended. */
  async #keepChecking(
    manager: JetStreamManager,
    cursor: Cursor,
    listener: BrokerListener,
    ended: AbortSignal,
  ): Promise<void> {
    while (!ended.aborted) {
      const before = Date.now();
      await pause(TICK_MS, ended);
      const now = Date.now();
      const isLate = Math.abs(now - before) > LATE_MS;
      const isDue = isLate || Math.abs(now - cursor.checkedAt) >= CHECK_MS;
      if (isDue && !ended.aborted) await this.#check(manager, cursor, listener);
    }
  }

  /**
   * Reports a gap if messages have left the stream before they were received.
   *
   * @throws Error if it is another stream, or an earlier state of it.
   */
  async #check(manager: JetStreamManager, cursor: Cursor, listener: BrokerListener): Promise<void> {
    const { sequence } = cursor;
    const checkedAt = Date.now();
    const { created, state } = await manager.streams.info(this.stream.name);
    if (created !== cursor.created || state.last_seq < sequence)
      throw new Error('the stream has begun again');
    cursor.checkedAt = checkedAt;
    if (state.first_seq <= cursor.sequence + 1) return;
    listener.onGap();
    cursor.sequence = state.first_seq - 1;
    cursor.at = NEVER;
    this.#sequences.check();
  }
}

/**
 * Returns the JetStream manager of a connection; undefined if the server has no JetStream.
 *
 * @param isNeeded - whether to throw instead of returning undefined.
 */
export async function jetStreamOf(
  connection: NatsConnection,
  isNeeded: boolean,
): Promise<JetStreamManager | undefined> {
  try {
    return await jetstreamManager(connection);
  } catch (error) {
    const isAvailable =
      codeOf(error) !== JetStreamApiCodes.JetStreamNotEnabledForAccount && !hasNoResponders(error);
    if (isNeeded || isAvailable) throw error;
    return undefined;
  }
}

function throwGone(error: unknown): never {
  throw error instanceof Error ? error : new Error('the stream no longer exists');
}

/**
 * Returns whether a stream has everything after a position, unless the message there is another
 * one.
 */
function continues(cursor: Cursor, info: StreamInfo): boolean {
  const { config, created, state } = info;
  if (cursor.created !== created || cursor.sequence > state.last_seq) return false;
  if (has(info, cursor.sequence)) return true;
  // The message has left the window. If a restored stream had given its number to another one
  // since the last check, that would still be there.
  const absence = (Date.now() - cursor.checkedAt) * NANOSECONDS;
  return cursor.sequence + 1 >= state.first_seq && absence < config.max_age;
}

/** Returns whether a stream has a message, unless that one was deleted alone. */
function has({ state }: StreamInfo, sequence: number): boolean {
  return state.messages > 0 && state.first_seq <= sequence;
}

/** The position in a stream. */
interface Cursor {
  /**
   * When the stream was created: identifies it among streams with the same name. One that is
   * restored from a backup has the same.
   */
  created: string;
  sequence: number;
  /**
   * When the message with this sequence number was stored, in milliseconds since 1970, by the clock
   * of the server; undefined until it was received, `NEVER` if the stream does not have it. A
   * restored stream gives the same number to a message with another time.
   */
  at: number | undefined;
  /** When the stream was last checked, in milliseconds since 1970. */
  checkedAt: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
/** Milliseconds between two checks of the stream. */
const CHECK_MS = 10_000;
/** Milliseconds between two looks at the clock. */
const TICK_MS = 1_000;
/** Milliseconds between two looks after which the process counts as suspended. */
const LATE_MS = 2_000;
