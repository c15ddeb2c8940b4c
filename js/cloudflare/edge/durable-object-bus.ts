import { waitUntil } from 'cloudflare:workers';
import type {
  AttachableBus,
  AttachmentCounters,
  AttachmentListener,
  AttachOptions,
  BusConnection,
  ConnectOptions,
} from '../../bus/attachable-bus.js';
import type { ListenBus } from '../../bus/bus.js';
import { eventText } from '../../bus/event-text.js';
import {
  type EmitOptions,
  type EventPublisher,
  type EventReceipt,
  type EventSource,
  occurrenceText,
  type SubscribedWebhook,
} from '../../bus/events.js';
import type { Opening } from '../../bus/opening.js';
import type { BusOperator, CountedBus, OperatedStreams } from '../../bus/operator/operator.js';
import type { SessionStore } from '../../bus/session-store.js';
import type { WantedBus } from '../../bus/wanted/interest.js';
import { type Topic, textOfTopic } from '../../bus/wanted/topic.js';
import { ListenError } from '../../model/error.js';
import type { ServerEvent } from '../../model/event.js';
import type { StreamLogger } from '../../observe/log.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { safely } from '../../observe/stream-observer.js';
import type { FanoutStream } from '../../streams/index.js';
import { DEFAULT_BUS, isReserved } from '../wire/names.js';
import { acceptedEvent } from '../wire/refused-event.js';
import { attemptsFor, MAX_ATTEMPTS, retrying, unavailable } from '../wire/retry.js';
import {
  type BusNamespace,
  type BusStub,
  busStub,
  type WebhookStub,
  webhookStub,
} from '../wire/stubs.js';
import { webhookObjectOf } from '../wire/webhooks.js';
import { BusSocket } from './bus-socket.js';
import { BusSubscriber } from './bus-subscriber.js';
import { ConnectionPool } from './connection-pool.js';
import { BusConnector, type OperatorResponder } from './connector.js';
import { DurableObjectSessions } from './durable-object-sessions.js';
import { EdgeInterest } from './edge-interest.js';
import { DurableObjectOperator } from './operator.js';

/** Options of {@link durableObjectBus}. */
export interface DurableObjectBusOptions {
  /**
   * The name of the bus in the namespace. Servers whose buses have the same name receive each
   * other's events.
   *
   * @default 'mcp-listen'
   */
  bus?: string;
  /**
   * Called with the error of each publish that fails, awaited or not, and when a listener may have
   * missed events.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Called when it is known whether the streams of the isolate share a socket, and when streams
   * that share one lose the bus or reconnect. Other streams report to `onLog` of
   * `createListenHandler`.
   *
   * @default undefined
   */
  onLog?: StreamLogger;
  /**
   * How the streams of an isolate reach the bus. `each`: each stream has a socket. `shared`: all
   * streams share the socket that the request of one of them opens. This needs a runtime where a
   * request can write to the streams of others, which Workers do not promise. `auto`: shared if a
   * write probe with the first two streams shows that this works, otherwise each; `onLog` receives
   * the result once. Streams of sessions always have a socket each.
   *
   * @default 'auto'
   */
  sockets?: 'auto' | 'shared' | 'each';
  /**
   * Whether a stream waits for `onWanted` of the bus object before it is acknowledged, so that the
   * hook can refuse. This is one more call to the object for each stream with a topic that no other
   * stream of the isolate has. Set it if the class has `static wanted`.
   *
   * @default false
   */
  wanted?: boolean;
}

/**
 * Creates the bus that all isolates of a Worker share. Create it once, for example at the top of
 * the module.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const bus = durableObjectBus(env.MCP_BUS);
 * const server = createListenHandler(handler, { bus });
 * ```
 */
export function durableObjectBus(
  namespace: BusNamespace,
  options: DurableObjectBusOptions = {},
): ListenBus & EventPublisher & WantedBus & CountedBus {
  return new DurableObjectBus(namespace, options);
}

class DurableObjectBus implements AttachableBus, EventPublisher, WantedBus, CountedBus {
  /** Sessions of clients of earlier revisions, in the bus object. */
  readonly sessions: SessionStore;
  readonly events: EventSource = {
    modes: ['poll', 'push'],
    page: (query) => this.#page(query),
    webhooks: {
      subscribe: (webhook) => this.#atWebhook(webhook, (stub, text) => stub.subscribeWebhook(text)),
      unsubscribe: (webhook) =>
        this.#atWebhook(webhook, (stub, text) => stub.unsubscribeWebhook(text)),
    },
  };

  readonly interest: EdgeInterest | undefined;
  readonly #namespace: BusNamespace;
  readonly #name: string;
  readonly #connector: BusConnector;
  readonly #connections: ConnectionPool;
  readonly #operator: DurableObjectOperator;
  readonly #onError: (error: Error) => void;

  constructor(namespace: BusNamespace, options: DurableObjectBusOptions) {
    const { bus: name = DEFAULT_BUS, onLog, sockets = 'auto' } = options;
    const onError = safeOnError(options.onError ?? report);
    if (options.wanted === true)
      this.interest = new EdgeInterest((topics, caller) =>
        this.#call(MAX_ATTEMPTS, (stub) => stub.want(topics, caller)),
      );
    if (isReserved(name))
      throw new ListenError('invalid-options', `${name} is a name that is reserved for shards`);
    this.#namespace = namespace;
    this.#name = name;
    this.#operator = new DurableObjectOperator({
      call: (mayRepeat, call) => this.#call(mayRepeat ? MAX_ATTEMPTS : 1, call),
      listeners: (max, hasCallers) => this.#connections.listeners(max, hasCallers),
      waitUntil,
      onError,
    });
    const responder: OperatorResponder = (frame, reply) => this.#operator.respond(frame, reply);
    this.#connector = new BusConnector(namespace, name, waitUntil, responder);
    this.sessions = new DurableObjectSessions(name, this.#connector, () => this.#stub());
    this.#onError = onError;
    this.#connections = new ConnectionPool({
      connector: this.#connector,
      onError,
      onLog: safely(onLog, onError),
      sockets,
    });
  }

  get counters(): AttachmentCounters {
    return this.#connections.counters;
  }

  /** Publishes an event. The publish continues after the response of the request was sent. */
  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  publishAll(events: ServerEvent[]): Promise<void> {
    const published = this.#publish(events);
    waitUntil(published.catch(this.#onError));
    return published;
  }

  emit(name: string, data: Record<string, unknown>, options?: EmitOptions): Promise<EventReceipt> {
    // The log accepts an occurrence with an id once, however often it is sent.
    const attempts = options?.id === undefined ? 1 : MAX_ATTEMPTS;
    const published = this.#emit(occurrenceText(name, data, options), attempts);
    waitUntil(published.catch(this.#onError));
    return published;
  }

  openStream(opening: Opening, options: AttachOptions): Promise<FanoutStream> {
    return this.#connections.open(opening, options);
  }

  connect(
    frame: string,
    listener: AttachmentListener,
    { continent = '' }: ConnectOptions,
  ): BusConnection {
    return new BusSocket(this.#connector, { continent, isSession: true }, frame, listener);
  }

  waitUntil(work: Promise<void>): void {
    waitUntil(work);
  }

  isWanted(topic: Topic): Promise<boolean> {
    return this.#call(MAX_ATTEMPTS, (stub) => stub.isWanted(textOfTopic(topic)));
  }

  listeners(principal: string): Promise<number> {
    return this.#operator.listeners(principal);
  }

  operate(streams: OperatedStreams): BusOperator {
    this.#operator.add(streams);
    return this.#operator;
  }

  async settle(): Promise<void> {
    await this.#connections.settle();
  }

  /**
   * Calls `listener` with every event, for as long as the subscribing request lives. After the bus
   * was lost, `listener` receives the latest missed event of each topic; if the log no longer holds
   * all of them, `onError` is called.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    const connect = (frame: string, listener: AttachmentListener) =>
      new BusSocket(this.#connector, NO_STREAM, frame, listener);
    const onEvent = listener as (event: ServerEvent) => void;
    const subscriber = new BusSubscriber({ connect, onEvent, onError: this.#onError });
    return () => subscriber.close();
  }

  async #emit(event: string, attempts: number): Promise<EventReceipt> {
    const reply = await this.#call(attempts, (stub) => stub.emit(event));
    return acceptedEvent(reply);
  }

  #page(query: string): Promise<string> {
    return this.#call(MAX_ATTEMPTS, (stub) => stub.readEvents(query));
  }

  /** Calls the object that has the webhooks of a caller. */
  #atWebhook(
    webhook: SubscribedWebhook,
    call: (stub: WebhookStub, text: string) => Promise<string>,
  ): Promise<string> {
    const address = { bus: this.#name, object: webhookObjectOf(webhook.principal) };
    const text = JSON.stringify(webhook);
    return replied(MAX_ATTEMPTS, () => call(webhookStub(this.#namespace, address), text));
  }

  #call<T>(attempts: number, call: (stub: BusStub) => Promise<T>): Promise<T> {
    return replied(attempts, () => call(this.#stub()));
  }

  async #publish(events: ServerEvent[]): Promise<void> {
    const texts = events.map(eventText);
    try {
      await retrying(
        () => attemptsFor(texts),
        () => this.#send(texts),
      );
    } catch (cause) {
      throw unavailable('the bus did not accept the event', cause);
    }
  }

  /** Buses of earlier versions accept one event per call. */
  async #send(texts: string[]): Promise<void> {
    const [first] = texts;
    if (first === undefined) return;
    await (texts.length === 1 ? this.#stub().publish(first) : this.#stub().publishAll(texts));
  }

  #stub(): BusStub {
    return busStub(this.#namespace, this.#name);
  }
}

/** Calls an object of the bus, at most `attempts` times. */
async function replied<T>(attempts: number, call: () => Promise<T>): Promise<T> {
  try {
    return await retrying(attempts, call);
  } catch (cause) {
    throw unavailable('the bus did not reply', cause);
  }
}

/** The owner of a listener's socket. */
const NO_STREAM = { continent: '', isSession: false };
