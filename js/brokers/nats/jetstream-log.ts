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
import { Thresholds } from '../../timing/thresholds.js';
import { codeOf, hasNoResponders, KeptStream } from './stream.js';

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
    const { isContiguous, cursor } = this.#resume(await this.stream.provide(manager));
    const from = {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: cursor.sequence + 1,
    };
    const consumer = await manager.jetstream().consumers.get(this.stream.name, from);
    if (stopped.aborted) return;
    // Set only now: if following fails before `onReady`, the next attempt must still report the
    // gap.
    this.#cursor = cursor;
    listener.onReady({ isContiguous });
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
    const { state } = await manager.streams.info(this.stream.name);
    await this.#sequences.reached(state.last_seq);
  }

  #resume({ created, state }: StreamInfo): { isContiguous: boolean; cursor: Cursor } {
    const former = this.#cursor;
    const isContiguous =
      former?.created === created &&
      former.sequence <= state.last_seq &&
      former.sequence + 1 >= state.first_seq;
    const cursor = isContiguous ? former : { created, sequence: state.last_seq };
    return { isContiguous, cursor };
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

function throwGone(error: unknown): never {
  throw error instanceof Error ? error : new Error('the stream no longer exists');
}

/** The position in a stream. */
interface Cursor {
  /** When the stream was created: identifies it among streams with the same name. */
  created: string;
  sequence: number;
}
