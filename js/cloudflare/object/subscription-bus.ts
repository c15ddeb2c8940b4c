import { DurableObject } from 'cloudflare:workers';
import type { NewSession, SessionLimits } from '../../bus/session-store.js';
import { deferred } from '../../timing/deferred.js';
import { shardAddress } from '../wire/names.js';
import { KEY_HEADER, servesEdge, turnedAway } from '../wire/upgrade.js';
import { BusKey } from './key.js';
import { onCoreReset } from './on-core-reset.js';
import type { SubscriptionBusOptions } from './options.js';
import { type BusStats, RootBus } from './root/root.js';
import type { BusWatcher, WatcherMaker } from './root/watcher.js';
import { ShardBus } from './shard.js';
import { Start } from './start.js';
import type { IdempotencyKey, PublishedAt } from './tables/idempotency-keys.js';

/**
 * The bus as a Durable Object: give it a binding and a `new_sqlite_classes` migration, and export
 * it from the Worker. It logs each event in SQLite, sends it to the sockets of the streams that want it,
 * and hibernates between events. When it holds more streams than one object should, it opens shards: further
 * objects of this class, by other names, that hold them.
 *
 * A request that a Worker routes to it gets status 403, and neither reads nor writes its storage.
 */
export class SubscriptionBus<Env = unknown> extends DurableObject<Env> {
  /** Options for every bus of this class: override it in a class of your own. */
  static options: SubscriptionBusOptions = {};
  /** Brings changes from elsewhere to each bus of this class, as `watchUpstream` does; nothing does by default. */
  static watcher: WatcherMaker | undefined = undefined;
  readonly #key: BusKey;
  readonly #start: Start;
  #made: Role | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#key = new BusKey(ctx);
    this.#start = new Start(ctx);
  }

  /** Accepts the socket of an edge that has the key, or names the shard where it has to go. */
  override async fetch(request: Request): Promise<Response> {
    const { headers } = request;
    if (!(await this.#key.is(headers.get(KEY_HEADER) ?? '')))
      return new Response(null, { status: 403 });
    if (headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response(null, { status: 426, headers: { upgrade: 'websocket' } });
    }
    if (!servesEdge(headers)) return turnedAway(headers);
    return this.#role.bus.accept(request, this.#key.tag);
  }

  /** Returns the key that upgrades have to carry. */
  connectionKey(): string {
    return this.#key.issue();
  }

  /**
   * Publishes one event, given as JSON text. Resolves with its position once it is on disk:
   * the runtime holds the answer, and every frame, back until then.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publish(event: string): Promise<number> {
    return this.publishAll([event]);
  }

  /**
   * Publishes events, each given as JSON text, in one transaction: all of them or none. Otherwise as
   * {@link SubscriptionBus.publish}; resolves with the position of the last one.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishAll(events: string[]): Promise<number> {
    return this.#root.publishAll(events);
  }

  /**
   * As {@link SubscriptionBus.publishAll}, unless a publish with this key or signature was made before: then that one's
   * position, or `key-reused` where it published other events. `signatures-full`: see {@link IdempotencyOptions.signedPublishes}.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishOnce(events: string[], once: IdempotencyKey): Promise<PublishedAt> {
    return this.#root.publishOnce(events, once);
  }

  /** What this bus is doing, or this shard. */
  stats(): BusStats {
    return this.#role.bus.stats();
  }

  /** A shard of this bus told what it follows, in words of the core. */
  follow(shard: number, call: string): string {
    const answer = this.#root.follow(shard, call);
    this.#role.watcher?.stir();
    return answer;
  }

  /** The root of this shard sent a batch of events, in words of the core. */
  deliver(batch: string): string {
    return this.#shard.deliver(batch);
  }

  /** The root of this shard says something about a session, in words of the core. */
  async tellSession(call: string): Promise<void> {
    await this.#shard.tellSession(call);
  }

  /** Begins a session and resolves with its id; with undefined where there is no room. */
  beginSession(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    return this.#root.sessions.begin(session, limits);
  }

  /** Asks something of a session, in words of the core. */
  async askSession(question: string): Promise<string> {
    const reply = await this.#root.sessions.ask(question);
    this.#role.watcher?.stir();
    return reply;
  }

  /** Does what waited for its time. */
  override async alarm(): Promise<void> {
    const { bus } = this.#role;
    if (bus instanceof RootBus) await bus.alarm();
    await this.#role.watcher?.alarm();
  }

  /** Handles a frame of an edge. */
  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#role.bus.receive(socket, frame);
    this.#role.watcher?.stir();
  }

  /** Handles the close of an edge's socket. */
  override webSocketClose(socket: WebSocket): void {
    this.#role.bus.closed(socket);
    this.#role.watcher?.stir();
  }

  /** Handles the failure of an edge's socket. */
  override webSocketError(socket: WebSocket): void {
    this.#role.bus.closed(socket);
    this.#role.watcher?.stir();
  }

  /** What the object is, made when it is first used: a request that is refused makes no tables. */
  get #role(): Role {
    this.#made ??= this.#start.from(() => this.#make());
    return this.#made;
  }

  #make(): Role {
    const { ctx, env } = this;
    const { options, watcher: watcherOf } = this.constructor as typeof SubscriptionBus;
    this.#onReset();
    this.#key.issue();
    const name = ctx.id.name ?? '';
    const address = shardAddress(name);
    if (address !== undefined)
      return { bus: new ShardBus(ctx, env, address, options), watcher: undefined };
    const bus = new RootBus(ctx, env, options, this.#key);
    const watcher = watcherOf?.(name, bus);
    if (ctx.getWebSockets().length > 0) watcher?.stir();
    return { bus, watcher };
  }

  /** Resets the object in its own context, whichever one has called the core. */
  #onReset(): void {
    const lapsed = deferred();
    void lapsed.promise.then(() => this.#start.reset('the core has trapped'));
    onCoreReset(this.ctx.id.toString(), lapsed.resolve);
  }

  get #root(): RootBus {
    const { bus } = this.#role;
    if (bus instanceof RootBus) return bus;
    throw new Error('this object is a shard: its root has to be asked');
  }

  get #shard(): ShardBus {
    const { bus } = this.#role;
    if (bus instanceof ShardBus) return bus;
    throw new Error('this object is no shard');
  }
}

/** What an object is by its name. */
interface Role {
  bus: RootBus | ShardBus;
  /** Brings changes from elsewhere; undefined at shards, and where the class has none. */
  watcher: BusWatcher | undefined;
}
