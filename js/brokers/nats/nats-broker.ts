import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Broker, BrokerListener } from '../../bus/broker.js';
import { untilAborted } from '../../timing/aborted.js';
import { deferred } from '../../timing/deferred.js';
import type { ConnectionLease, NatsConnectionManager } from './connection.js';
import { JetStreamLog, type JetStreamLogOptions, jetStreamOf } from './jetstream-log.js';

/** Options of a {@link NatsBroker}. */
export interface NatsBrokerOptions extends JetStreamLogOptions {
  /** Whether events are kept in JetStream; undefined keeps them if the server has JetStream. */
  jetStream: boolean | undefined;
}

/** A broker on a NATS subject that keeps its events in a JetStream stream, if one is available. */
export class NatsBroker implements Broker {
  readonly #line: NatsConnectionManager;
  readonly #subject: string;
  readonly #wantsJetStream: boolean | undefined;
  readonly #log: JetStreamLog;
  /** The JetStream manager of each connection, by its `lost` promise. */
  readonly #found = new WeakMap<Promise<Error>, Promise<JetStreamManager | undefined>>();

  constructor(line: NatsConnectionManager, name: string, options: NatsBrokerOptions) {
    this.#line = line;
    this.#subject = name;
    this.#wantsJetStream = options.jetStream;
    this.#log = new JetStreamLog(name, options);
  }

  async publish(events: string, late: AbortSignal): Promise<void> {
    const hold = await this.#line.hold();
    if (late.aborted) throw new Error('the server is away');
    await unless(hold.lost, this.#send(hold, events));
  }

  async follow(ear: BrokerListener, signal: AbortSignal): Promise<void> {
    const hold = await this.#line.hold();
    const over = Promise.race([untilAborted(signal), hold.lost]);
    const left = new AbortController();
    void over.then(() => left.abort());
    await unless(over, this.#followOn(hold, ear, left.signal));
  }

  async settle(): Promise<void> {
    const hold = await this.#line.hold();
    const manager = await this.#jetStream(hold);
    if (manager !== undefined) await this.#log.heardAll(manager);
    // The server replies in order: everything that it sent before the reply has been received.
    else await hold.connection.flush();
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  async #send(hold: ConnectionLease, events: string): Promise<void> {
    const manager = await this.#jetStream(hold);
    if (manager !== undefined) return this.#log.append(manager, events);
    hold.connection.publish(this.#subject, events);
    // The server replies in order: it has processed the message before the flush.
    await hold.connection.flush();
  }

  /** Follows until `left` aborts. Does nothing if `left` has aborted before. */
  async #followOn(hold: ConnectionLease, ear: BrokerListener, left: AbortSignal): Promise<void> {
    const manager = await this.#jetStream(hold);
    if (manager === undefined) await this.#listen(hold.connection, ear, left);
    else await this.#log.follow(manager, ear, left);
  }

  /**
   * Follows the subject without a log: events that are published while there is no subscription are
   * lost.
   */
  async #listen(connection: NatsConnection, ear: BrokerListener, left: AbortSignal): Promise<void> {
    const refused = deferred<Error>();
    const callback = (error: Error | null, message: { string(): string }): void =>
      error === null ? ear.onEvents(message.string()) : refused.resolve(error);
    const subscription = connection.subscribe(this.#subject, { callback });
    try {
      await unless(refused.promise, connection.flush());
      if (!left.aborted) ear.onReady(false);
      await unless(refused.promise, untilAborted(left));
    } finally {
      subscription.unsubscribe();
    }
  }

  #jetStream(hold: ConnectionLease): Promise<JetStreamManager | undefined> {
    if (this.#wantsJetStream === false) return Promise.resolve(undefined);
    const found = this.#found.get(hold.lost) ?? this.#find(hold);
    this.#found.set(hold.lost, found);
    return found;
  }

  /**
   * Finds JetStream. A failure is not cached, so the next call tries again. A log that was followed
   * before requires JetStream.
   */
  async #find({ connection, lost }: ConnectionLease): Promise<JetStreamManager | undefined> {
    try {
      const manager = await jetStreamOf(
        connection,
        this.#wantsJetStream === true || this.#log.isKnown,
      );
      if (manager !== undefined) await this.#log.provide(manager);
      return manager;
    } catch (error) {
      this.#found.delete(lost);
      throw error;
    }
  }
}

/**
 * Waits for `work`. Stops waiting when `end` resolves first, and throws its value if that is an
 * error.
 */
async function unless(end: Promise<unknown>, work: Promise<void>): Promise<void> {
  const error = await Promise.race([end, work]);
  if (error instanceof Error) throw error;
}
