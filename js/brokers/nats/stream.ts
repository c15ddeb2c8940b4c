import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type PubAck,
  type StreamInfo,
} from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';

/** What a {@link KeptStream} keeps, if the bus creates it. */
export interface StreamWindow {
  ageMs: number;
  /** Maximum number of messages; absent: any. */
  messages?: number;
  /** Maximum bytes of all messages; absent: any. */
  bytes?: number;
}

/** A JetStream stream with one subject of the same name. */
export class KeptStream {
  readonly name: string;
  readonly #window: StreamWindow;

  constructor(name: string, window: StreamWindow) {
    this.name = name;
    this.#window = window;
  }

  /** Creates the stream if it does not exist. An existing stream keeps its configuration. */
  async provide(manager: JetStreamManager): Promise<StreamInfo> {
    try {
      return await manager.streams.info(this.name);
    } catch (error) {
      if (codeOf(error) !== JetStreamApiCodes.StreamNotFound) throw error;
    }
    const { ageMs, bytes, messages } = this.#window;
    return manager.streams.add({
      name: this.name,
      subjects: [this.name],
      max_age: Math.round(ageMs * NANOSECONDS),
      ...(messages !== undefined && { max_msgs: messages }),
      ...(bytes !== undefined && { max_bytes: bytes }),
    });
  }

  /** Appends a message. Creates the stream again if it was deleted. */
  async append(manager: JetStreamManager, message: string): Promise<PubAck> {
    const client = manager.jetstream();
    try {
      return await client.publish(this.name, message);
    } catch (error) {
      if (!hasNoResponders(error)) throw error;
      await this.provide(manager);
      return client.publish(this.name, message);
    }
  }
}

/** Returns the code of an error of JetStream; undefined if it is another error. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/** Returns whether the request had no responders. */
export function hasNoResponders(error: unknown): boolean {
  return (
    error instanceof errors.NoRespondersError ||
    (error instanceof Error && hasNoResponders(error.cause))
  );
}

/** Nanoseconds in a millisecond. */
export const NANOSECONDS = 1_000_000;
