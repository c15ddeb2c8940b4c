import {
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import type { BrokerListener } from '../../bus/broker.js';
import { untilAborted } from '../../timing/aborted.js';
import { Thresholds } from '../../timing/thresholds.js';

/** How much the stream of a {@link JetStreamLog} keeps, if the log creates it. */
export interface JetStreamLogOptions {
  logEvents: number;
  logAgeMs: number;
}

/** A JetStream stream with the events of one bus. */
export class JetStreamLog {
  readonly #name: string;
  readonly #options: JetStreamLogOptions;
  #cursor: Cursor | undefined;
  readonly #sequences = new Thresholds(() => this.#cursor?.sequence ?? 0);

  constructor(name: string, options: JetStreamLogOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** Whether the stream was ever followed. */
  get isKnown(): boolean {
    return this.#cursor !== undefined;
  }

  /** Creates the stream if it does not exist. An existing stream keeps its configuration. */
  async provide(manager: JetStreamManager): Promise<StreamInfo> {
    try {
      return await manager.streams.info(this.#name);
    } catch (error) {
      if (codeOf(error) !== JetStreamApiCodes.StreamNotFound) throw error;
    }
    const { logAgeMs, logEvents } = this.#options;
    const max_age = Math.round(logAgeMs * NANOSECONDS);
    return manager.streams.add({
      name: this.#name,
      subjects: [this.#name],
      max_msgs: logEvents,
      max_age,
    });
  }

  /** Appends events. Creates the stream again if it was deleted. */
  async append(manager: JetStreamManager, events: string): Promise<void> {
    const client = manager.jetstream();
    try {
      await client.publish(this.#name, events);
    } catch (error) {
      if (!hasNoResponders(error)) throw error;
      await this.provide(manager);
      await client.publish(this.#name, events);
    }
  }

  /** Follows the stream from the last position, until `stopped` aborts. */
  async follow(
    manager: JetStreamManager,
    listener: BrokerListener,
    stopped: AbortSignal,
  ): Promise<void> {
    const { isWhole, cursor } = this.#resume(await this.provide(manager));
    const from = {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: cursor.sequence + 1,
    };
    const consumer = await manager.jetstream().consumers.get(this.#name, from);
    if (stopped.aborted) return;
    // Set only now: if following fails before `onReady`, the next attempt must still report the
    // gap.
    this.#cursor = cursor;
    listener.onReady(isWhole);
    const callback = (message: JsMsg): void => this.#handleMessage(cursor, message, listener);
    const messages = await consumer.consume({ callback, abort_on_missing_resource: true });
    try {
      await Promise.race([untilAborted(stopped), messages.closed().then(throwGone)]);
    } finally {
      messages.stop();
    }
  }

  /** Resolves when everything that the stream contains at the time of the call was received. */
  async receivedAll(manager: JetStreamManager): Promise<void> {
    const { state } = await manager.streams.info(this.#name);
    await this.#sequences.reached(state.last_seq);
  }

  #resume({ created, state }: StreamInfo): { isWhole: boolean; cursor: Cursor } {
    const former = this.#cursor;
    const isContiguous =
      former?.created === created &&
      former.sequence <= state.last_seq &&
      former.sequence + 1 >= state.first_seq;
    const cursor = isContiguous ? former : { created, sequence: state.last_seq };
    return { isWhole: isContiguous, cursor };
  }

  #handleMessage(cursor: Cursor, message: JsMsg, listener: BrokerListener): void {
    if (message.seq !== cursor.sequence + 1) listener.onGap();
    cursor.sequence = message.seq;
    listener.onEvents(message.string());
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

function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/** Returns whether the request had no responders. */
function hasNoResponders(error: unknown): boolean {
  return (
    error instanceof errors.NoRespondersError ||
    (error instanceof Error && hasNoResponders(error.cause))
  );
}

function throwGone(error: unknown): never {
  throw error instanceof Error ? error : new Error('the stream is gone');
}

/** The position in a stream. */
interface Cursor {
  /** When the stream was created: identifies it among streams with the same name. */
  created: string;
  sequence: number;
}

const NANOSECONDS = 1_000_000;
