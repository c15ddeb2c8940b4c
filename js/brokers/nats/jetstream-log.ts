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
import { type Deferred, deferred } from '../../timing/deferred.js';

/** How much a {@link JetStreamLog} keeps, where it makes the stream. */
export interface JetStreamLogOptions {
  logEvents: number;
  logAgeMs: number;
}

/** A stream of JetStream with the events of one bus. */
export class JetStreamLog {
  readonly #name: string;
  readonly #options: JetStreamLogOptions;
  #place: Place | undefined;
  /** Those who wait until the message with a sequence was read. */
  readonly #awaited = new Map<Deferred<void>, number>();

  constructor(name: string, options: JetStreamLogOptions) {
    this.#name = name;
    this.#options = options;
  }

  /** Whether it was ever read. */
  get isKnown(): boolean {
    return this.#place !== undefined;
  }

  /** Sees to it that the stream is there; one that somebody has made stays as it is. */
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

  /** Appends events; a stream that is gone is made again. */
  async append(manager: JetStreamManager, events: string): Promise<void> {
    const client = manager.jetstream();
    try {
      await client.publish(this.#name, events);
    } catch (error) {
      if (!hasNobody(error)) throw error;
      await this.provide(manager);
      await client.publish(this.#name, events);
    }
  }

  /** Reads on from where it was read up to, until `left` aborts. */
  async follow(manager: JetStreamManager, ear: BrokerListener, left: AbortSignal): Promise<void> {
    const { isWhole, place } = this.#resume(await this.provide(manager));
    const from = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: place.sequence + 1 };
    const consumer = await manager.jetstream().consumers.get(this.#name, from);
    if (left.aborted) return;
    // Not before: a gap that nobody was told of must not be forgotten.
    this.#place = place;
    ear.onReady(isWhole);
    const callback = (message: JsMsg): void => this.#take(place, message, ear);
    const messages = await consumer.consume({ callback, abort_on_missing_resource: true });
    try {
      await Promise.race([untilAborted(left), messages.closed().then(gone)]);
    } finally {
      messages.stop();
    }
  }

  /** Resolves when all that the stream has at the time of the call was read. */
  async heardAll(manager: JetStreamManager): Promise<void> {
    const { state } = await manager.streams.info(this.#name);
    const heard = deferred();
    this.#awaited.set(heard, state.last_seq);
    this.#tellAwaited();
    await heard.promise;
  }

  #tellAwaited(): void {
    for (const [heard, sequence] of this.#awaited) {
      if (sequence > (this.#place?.sequence ?? 0)) continue;
      this.#awaited.delete(heard);
      heard.resolve();
    }
  }

  #resume({ created, state }: StreamInfo): { isWhole: boolean; place: Place } {
    const former = this.#place;
    const holds =
      former?.created === created &&
      former.sequence <= state.last_seq &&
      former.sequence + 1 >= state.first_seq;
    const place = holds ? former : { created, sequence: state.last_seq };
    return { isWhole: holds, place };
  }

  #take(place: Place, message: JsMsg, ear: BrokerListener): void {
    if (message.seq !== place.sequence + 1) ear.onGap();
    place.sequence = message.seq;
    ear.onEvents(message.string());
    this.#tellAwaited();
  }
}

/**
 * JetStream at the other end of a connection; undefined where there is none.
 *
 * @param isNeeded - whether to fail there instead.
 */
export async function jetStreamOf(
  connection: NatsConnection,
  isNeeded: boolean,
): Promise<JetStreamManager | undefined> {
  try {
    return await jetstreamManager(connection);
  } catch (error) {
    const isThere =
      codeOf(error) !== JetStreamApiCodes.JetStreamNotEnabledForAccount && !hasNobody(error);
    if (isNeeded || isThere) throw error;
    return undefined;
  }
}

function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/** Whether nobody was there to take a request. */
function hasNobody(error: unknown): boolean {
  return (
    error instanceof errors.NoRespondersError || (error instanceof Error && hasNobody(error.cause))
  );
}

function gone(error: unknown): never {
  throw error instanceof Error ? error : new Error('the stream is gone');
}

/** Up to where a stream was read. */
interface Place {
  /** When the stream was made: another one has another time. */
  created: string;
  sequence: number;
}

const NANOSECONDS = 1_000_000;
