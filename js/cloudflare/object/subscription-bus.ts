import { DurableObject } from 'cloudflare:workers';
import type { EventLogMaker, EventReceipt } from '../../bus/events.js';
import type { NewSession, SessionLimits } from '../../bus/session-store.js';
import type { WantedOptions } from '../../bus/wanted/options.js';
import type { BusStats } from '../../model/stats/bus.js';
import { shardAddress, webhookAddress } from '../wire/names.js';
import type { ObjectReply, OperatorQuestion } from '../wire/operate.js';
import type { IdempotencyKey, PublishedAt } from '../wire/publish.js';
import { type RefusedEvent, refusedEvent } from '../wire/refused-event.js';
import { KEY_HEADER, rejectUpgrade, servesEdge } from '../wire/upgrade.js';
import { BusHooks } from './bus/hooks.js';
import { RootBus } from './bus/root.js';
import { type BusWatcher, type WatcherMaker, watchers } from './bus/watcher.js';
import { Isolates, isolateTags } from './isolates.js';
import { BusKey } from './key.js';
import type { SubscriptionBusOptions } from './options.js';
import { ShardBus } from './shard.js';
import { Start } from './start.js';
import { WebhookObject } from './webhook-object.js';

/**
 * The bus as a Durable Object: give it a binding and a `new_sqlite_classes` migration, and export
 * it from the Worker. It logs each event in SQLite, sends it to the sockets of the streams that
 * want it, and hibernates between events. When it has more streams than one object should hold, it
 * opens shards: objects of the same class, under other names, that hold streams.
 *
 * A request that a Worker routes to the object gets status 403 and neither reads nor writes its
 * storage.
 *
 * @example
 * ```ts
 * import { SubscriptionBus as PlainBus } from 'mcp-listen/cloudflare';
 *
 * export class SubscriptionBus extends PlainBus {
 *   static override options = { logEvents: 50_000 };
 * }
 * ```
 */
export class SubscriptionBus<Env = unknown> extends DurableObject<Env> {
  /** Options for every bus of this class; override them in a subclass. */
  static options: SubscriptionBusOptions = {};
  /**
   * Creates the watcher of each bus of this class, which publishes changes of another server, as
   * `watchUpstream` does. By default there is none.
   */
  static watcher: WatcherMaker | undefined = undefined;
  /**
   * Opens the log of occurrences of each bus of this class: `eventLog()` of `mcp-listen/events`. By
   * default there is none, and the bus carries changes only.
   */
  static events: EventLogMaker | undefined = undefined;
  /**
   * Hooks for what the streams of each bus of this class subscribe to. They run in the object, and
   * can refuse a stream's topic if the servers create the bus with the option `wanted`.
   */
  static wanted: WantedOptions | undefined = undefined;
  readonly #key: BusKey;
  readonly #start: Start;
  readonly #isolates: Isolates;
  #currentRole: Role | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#key = new BusKey(ctx);
    this.#isolates = new Isolates(ctx);
    this.#start = new Start(ctx);
  }

  /**
   * Accepts the socket of an edge that has the key, or names the shard to which the edge has to
   * connect.
   */
  override async fetch(request: Request): Promise<Response> {
    const { headers } = request;
    if (!(await this.#key.is(headers.get(KEY_HEADER) ?? '')))
      return new Response(null, { status: 403 });
    if (headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response(null, { status: 426, headers: { upgrade: 'websocket' } });
    }
    if (!servesEdge(headers)) return rejectUpgrade(headers);
    return this.#role.bus.accept(request, [this.#key.tag, ...isolateTags(headers)]);
  }

  /** Returns the key that upgrades have to carry. */
  connectionKey(): string {
    return this.#key.issue();
  }

  /**
   * Publishes one event, given as JSON text. Resolves with its position once it is on disk: the
   * runtime holds the response and every frame back until then.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publish(event: string): Promise<number> {
    return this.publishAll([event]);
  }

  /**
   * Publishes events, each given as JSON text, in one transaction: all of them or none. Resolves
   * with the position of the last one. See {@link SubscriptionBus.publish}.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishAll(events: string[]): Promise<number> {
    return this.#root.publishAll(events);
  }

  /**
   * Publishes events as {@link SubscriptionBus.publishAll} does, unless a publish with this key or
   * signature was made before: then resolves with its position, or with `key-reused` if it
   * published other events. For `signatures-full`, see {@link IdempotencyOptions.signedPublishes}.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishOnce(events: string[], once: IdempotencyKey): Promise<PublishedAt> {
    return this.#root.publishOnce(events, once);
  }

  /**
   * Publishes an occurrence of MCP Events, given as JSON text. Resolves once it is on disk, or with
   * what is wrong with it.
   */
  emit(event: string): Promise<EventReceipt | RefusedEvent> {
    return this.#root.emit(event).catch(refusedEvent);
  }

  /** Returns the page of occurrences for a query, both as text of the core. */
  readEvents(query: string): string {
    return this.#root.readEvents(query);
  }

  /**
   * Resolves with those of the topics, given as texts, that the hooks refuse to a new stream of a
   * caller. An edge of an earlier version names no caller.
   */
  async want(topics: string[], caller?: string): Promise<string[]> {
    return (await this.#role.hooks?.want(topics, caller)) ?? [];
  }

  /** Returns whether any stream of the bus subscribes to the topic with this text. */
  isWanted(topic: string): boolean {
    return this.#root.wants(topic);
  }

  /** Returns the counters of this bus, shard, or object that delivers to webhooks. */
  stats(): BusStats | Promise<BusStats> {
    return this.#role.bus.stats();
  }

  /**
   * Handles a question of an operator: asks the isolates that have sockets here, and at a bus the
   * shards, which ask theirs.
   *
   * @internal
   */
  async operate(question: OperatorQuestion): Promise<ObjectReply> {
    const { bus } = this.#role;
    // Shards first: edges of a shard that closes come back here.
    const shards = bus instanceof RootBus ? await bus.askShards(question) : [];
    const { reports, sockets } = await this.#isolates.ask(question);
    const attached = bus.attached;
    return {
      objects: [
        { shard: 0, continent: '', attached, sockets },
        ...shards.flatMap(({ objects }) => objects),
      ],
      reports: [...reports, ...shards.flatMap(({ reports }) => reports)],
      ...(bus instanceof RootBus && { bus: bus.stats(), webhooks: bus.webhooks?.total }),
      log: bus instanceof RootBus ? bus.tail(question) : [],
    };
  }

  /** Handles a call of a shard of this bus that states what it follows, as text of the core. */
  follow(shard: number, call: string): string {
    const reply = this.#root.follow(shard, call);
    this.#role.watcher?.wantedChanged();
    return reply;
  }

  /** Handles a batch of events from the root of this shard, as text of the core. */
  deliver(batch: string): string {
    return this.#shard.deliver(batch);
  }

  /** Handles a call of the root of this shard about a session, as text of the core. */
  async notifySession(call: string): Promise<void> {
    await this.#shard.notifySession(call);
  }

  /** Handles a call of an object of this bus that delivers to webhooks: JSON text, as its reply. */
  followWebhooks(call: string): string {
    const { webhooks } = this.#root;
    if (webhooks !== undefined) return JSON.stringify(webhooks.follow(JSON.parse(call)));
    throw new Error('this bus delivers to no webhooks');
  }

  /** Makes or renews the subscription of a webhook, as JSON text; resolves with the reply. */
  subscribeWebhook(webhook: string): Promise<string> {
    return this.#webhooks.subscribe(webhook);
  }

  /** Removes the subscription of a webhook, as JSON text; resolves with the reply. */
  unsubscribeWebhook(webhook: string): Promise<string> {
    return this.#webhooks.unsubscribe(webhook);
  }

  /** Handles a call of the bus for whose webhooks this object is, as JSON text. */
  wakeWebhooks(call: string): Promise<void> {
    return this.#webhooks.wake(call);
  }

  /** Begins a session and resolves with its id; undefined if there is no room. */
  beginSession(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    return this.#root.sessions.begin(session, limits);
  }

  /** Handles a call about a session, as text of the core, and resolves with the reply. */
  async askSession(question: string): Promise<string> {
    const reply = await this.#root.sessions.ask(question);
    this.#role.watcher?.wantedChanged();
    return reply;
  }

  /** Handles the alarm: carries out what is due. */
  override async alarm(): Promise<void> {
    const { bus } = this.#role;
    if (!(bus instanceof ShardBus)) await bus.alarm();
    await this.#role.watcher?.alarm();
  }

  /** Handles a frame of an edge. */
  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    if (this.#isolates.receive(frame)) return;
    this.#role.bus.receive(socket, frame);
    this.#role.watcher?.wantedChanged();
  }

  /** Handles the close of an edge's socket. */
  override webSocketClose(socket: WebSocket): void {
    this.#role.bus.closed(socket);
    this.#role.watcher?.wantedChanged();
  }

  /** Handles the failure of an edge's socket. */
  override webSocketError(socket: WebSocket): void {
    this.#role.bus.closed(socket);
    this.#role.watcher?.wantedChanged();
  }

  /** The role of the object, created on first use: a request that is refused creates no tables. */
  get #role(): Role {
    this.#currentRole ??= this.#start.from(() => this.#createRole());
    return this.#currentRole;
  }

  #createRole(): Role {
    const { ctx, env } = this;
    const {
      events,
      options,
      wanted,
      watcher: watcherOf,
    } = this.constructor as typeof SubscriptionBus;
    this.#key.issue();
    const name = ctx.id.name ?? '';
    const address = shardAddress(name);
    if (address !== undefined)
      return { bus: new ShardBus(ctx, env, address, options), watcher: undefined };
    const webhooks = webhookAddress(name);
    if (webhooks !== undefined)
      return { bus: new WebhookObject(ctx, env, webhooks, events), watcher: undefined };
    const bus = new RootBus(ctx, env, options, this.#key, events);
    const hooks = wanted && new BusHooks(ctx.storage.sql, name, bus, wanted);
    const watcher = watchers([watcherOf?.(name, bus), hooks].filter((one) => one !== undefined));
    if (ctx.getWebSockets().length > 0 || hooks?.isDue === true) watcher?.wantedChanged();
    return { bus, watcher, hooks };
  }

  get #root(): RootBus {
    const { bus } = this.#role;
    if (bus instanceof RootBus) return bus;
    throw new Error('this object is not the root of its bus: call that instead');
  }

  get #shard(): ShardBus {
    const { bus } = this.#role;
    if (bus instanceof ShardBus) return bus;
    throw new Error('this object is not a shard');
  }

  get #webhooks(): WebhookObject {
    const { bus } = this.#role;
    if (bus instanceof WebhookObject) return bus;
    throw new Error('this object does not deliver to webhooks');
  }
}

/** The role of an object, which follows from its name. */
interface Role {
  bus: RootBus | ShardBus | WebhookObject;
  /** Publishes changes of another server; undefined if the class has no watcher, and at others. */
  watcher: BusWatcher | undefined;
  /** Calls the hooks `wanted`; undefined if the class has none, and at others. */
  hooks?: BusHooks | undefined;
}
