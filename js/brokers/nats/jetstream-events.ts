import {
  DeliverPolicy,
  type JetStreamManager,
  type JsMsg,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { BrokerLog, LogCopy, LogState } from '../../bus/broker/log.js';
import { deferred } from '../../timing/deferred.js';
import { KeptStream } from './stream.js';

/** Runs work with JetStream until it ends, the connection is lost or `signal` aborts. */
export type WithJetStream = <T>(
  work: (manager: JetStreamManager, stopped: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** A log of occurrences in a JetStream stream. Positions are the sequence numbers of the stream. */
export class JetStreamEvents implements BrokerLog {
  readonly #with: WithJetStream;
  readonly #stream: KeptStream;

  /** @param bus - the name of the bus. */
  constructor(bus: string, window: { ageMs: number; bytes: number }, withJetStream: WithJetStream) {
    this.#with = withJetStream;
    this.#stream = new KeptStream(`${bus}-events`, window);
  }

  append(occurrence: string, timeout: AbortSignal): Promise<number> {
    return this.#with(async (manager) => {
      const { seq } = await this.#stream.append(manager, occurrence);
      return seq;
    }, timeout);
  }

  follow(copy: LogCopy, signal: AbortSignal): Promise<void> {
    return this.#with((manager, stopped) => this.#followOn(manager, copy, stopped), signal);
  }

  async #followOn(manager: JetStreamManager, copy: LogCopy, stopped: AbortSignal): Promise<void> {
    const position = copy.open(stateOf(await this.#stream.provide(manager)));
    const from = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: position + 1 };
    const consumer = await manager.jetstream().consumers.get(this.#stream.name, from);
    if (stopped.aborted) return;
    const failed = deferred<void>();
    const callback = (message: JsMsg): void => {
      try {
        copy.append([
          { position: message.seq, at: message.time.getTime(), text: message.string() },
        ]);
      } catch (error) {
        failed.reject(error as Error);
      }
    };
    const messages = await consumer.consume({ callback, abort_on_missing_resource: true });
    stopped.addEventListener('abort', () => messages.stop());
    try {
      const error = await Promise.race([failed.promise, messages.closed()]);
      if (!stopped.aborted) throw error ?? new Error('the stream no longer exists');
    } finally {
      messages.stop();
    }
  }
}

/**
 * JetStream does not note which names it removed. The time of creation identifies the stream among
 * streams of the same name.
 */
function stateOf({ created, state }: StreamInfo): LogState {
  const last = state.last_seq;
  const first = state.messages === 0 ? last + 1 : state.first_seq;
  return { epoch: created.replaceAll(/\W/g, ''), first, last, trimmed: [['', first - 1]] };
}
