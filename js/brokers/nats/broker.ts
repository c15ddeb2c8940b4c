import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Broker, BrokerListener } from '../../bus/broker/broker.js';
import type { BrokerLog } from '../../bus/broker/log.js';
import { unlessAborted, untilAborted } from '../../timing/aborted.js';
import { deferred } from '../../timing/deferred.js';
import { type ConnectionLease, type NatsConnectionManager, signalsOf } from './connection.js';
import { JetStreamEvents } from './jetstream-events.js';
import { JetStreamLog, type JetStreamLogOptions, jetStreamOf } from './jetstream-log.js';

/** Options of a {@link NatsBroker}. */
export interface NatsBrokerOptions extends JetStreamLogOptions {
  /** Whether events are kept in JetStream; undefined keeps them if the server has JetStream. */
  jetStream: boolean | undefined;
  /** How much the log of occurrences keeps; undefined: there is none. */
  events: { ageMs: number; bytes: number } | undefined;
}

/** A broker on a NATS subject that keeps its events in a JetStream stream, if one is available. */
export class NatsBroker implements Broker {
  readonly log: BrokerLog | undefined;
  readonly #connections: NatsConnectionManager;
  readonly #subject: string;
  /** The subject of signals. */
  readonly #signals: string;
  readonly #wantsJetStream: boolean | undefined;
  readonly #log: JetStreamLog;
  /** The JetStream manager of each connection, by its `lost` signal. */
  readonly #managers = new WeakMap<AbortSignal, Promise<JetStreamManager | undefined>>();

  constructor(connections: NatsConnectionManager, name: string, options: NatsBrokerOptions) {
    this.#connections = connections;
    this.#subject = name;
    this.#signals = signalsOf(name);
    this.#wantsJetStream = options.jetStream;
    this.#log = new JetStreamLog(name, options);
    const { events, jetStream } = options;
    if (events !== undefined && jetStream === true)
      this.log = new JetStreamEvents(name, events, (work, signal) => this.#with(work, signal));
  }

  async publish(events: string, timeout: AbortSignal): Promise<void> {
    const lease = await this.#connections.lease(timeout);
    await unlessAborted([timeout, lease.lost], (stopped) => this.#send(lease, events, stopped));
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    const lease = await this.#connections.lease(signal);
    await unlessAborted([signal, lease.lost], (stopped) =>
      this.#followOn(lease, listener, stopped),
    );
  }

  async settle(): Promise<void> {
    const lease = await this.#connections.lease();
    const manager = await this.#jetStream(lease);
    if (manager !== undefined) await this.#log.receivedAll(manager);
    // The server replies in order: everything that it sent before the reply has been received.
    else await lease.connection.flush();
  }

  async signal(text: string): Promise<void> {
    const { connection } = await this.#connections.lease(AbortSignal.timeout(SIGNAL_MS));
    await this.#publish(connection, this.#signals, text);
  }

  async followSignals(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { connection, lost } = await this.#connections.lease(signal);
    await unlessAborted([signal, lost], (stopped) =>
      subscribed(connection, this.#signals, onSignal, onReady, stopped),
    );
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #send(lease: ConnectionLease, events: string, stopped: AbortSignal): Promise<void> {
    const manager = await this.#jetStream(lease);
    stopped.throwIfAborted();
    if (manager !== undefined) return void (await this.#log.stream.append(manager, events));
    await this.#publish(lease.connection, this.#subject, events);
  }

  /** Publishes a message. Resolves once the server has it, and fails if that refuses it. */
  async #publish(connection: NatsConnection, subject: string, text: string): Promise<void> {
    const former = this.#connections.refusalOf(subject);
    connection.publish(subject, text);
    // The server replies in order: it has processed the message before the flush. The client
    // reports a refusal in the same turn.
    await connection.flush();
    await new Promise<void>((resolve) => setImmediate(resolve));
    const refusal = this.#connections.refusalOf(subject);
    if (refusal !== undefined && refusal !== former) throw refusal;
  }

  /** Follows until `stopped` aborts. Does nothing if it has aborted before. */
  async #followOn(
    lease: ConnectionLease,
    listener: BrokerListener,
    stopped: AbortSignal,
  ): Promise<void> {
    const manager = await this.#jetStream(lease);
    if (manager === undefined) await this.#listen(lease.connection, listener, stopped);
    else await this.#log.follow(manager, listener, stopped);
  }

  /**
   * Follows the subject without a log: events that are published while there is no subscription are
   * lost.
   */
  async #listen(
    connection: NatsConnection,
    listener: BrokerListener,
    stopped: AbortSignal,
  ): Promise<void> {
    const onReady = () => listener.onReady({ isContiguous: false });
    const onEvents = (events: string) => listener.onEvents(events);
    await subscribed(connection, this.#subject, onEvents, onReady, stopped);
  }

  /** Runs work with JetStream until it ends, the connection is lost or `signal` aborts. */
  async #with<T>(
    work: (manager: JetStreamManager, stopped: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const lease = await this.#connections.lease(signal);
    return unlessAborted([signal, lease.lost], async (stopped) => {
      const manager = await this.#jetStream(lease);
      if (manager === undefined) throw new Error('JetStream is unavailable');
      stopped.throwIfAborted();
      return work(manager, stopped);
    });
  }

  #jetStream(lease: ConnectionLease): Promise<JetStreamManager | undefined> {
    if (this.#wantsJetStream === false) return Promise.resolve(undefined);
    const found = this.#managers.get(lease.lost) ?? this.#find(lease);
    this.#managers.set(lease.lost, found);
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
      if (manager !== undefined) await this.#log.stream.provide(manager);
      return manager;
    } catch (error) {
      this.#managers.delete(lost);
      throw error;
    }
  }
}

/**
 * Subscribes to a subject until `stopped` aborts. Calls `onReady` once the server sends what is
 * published. Fails if the server refuses it, now or later.
 */
async function subscribed(
  connection: NatsConnection,
  subject: string,
  onText: (text: string) => void,
  onReady: () => void,
  stopped: AbortSignal,
): Promise<void> {
  const refused = deferred<never>();
  const callback = (error: Error | null, message: { string(): string }): void =>
    error === null ? onText(message.string()) : refused.reject(error);
  const subscription = connection.subscribe(subject, { callback });
  try {
    await Promise.race([refused.promise, connection.flush()]);
    if (!stopped.aborted) onReady();
    await Promise.race([refused.promise, untilAborted(stopped)]);
  } finally {
    subscription.unsubscribe();
  }
}

/** Milliseconds after which a signal is not sent any more. */
const SIGNAL_MS = 2_000;
