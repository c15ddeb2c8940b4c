import { DurableObject } from 'cloudflare:workers';
import { deferred } from '../deferred.js';
import type { NewSession, SessionState } from '../legacy/session-store.js';
import type { SubscriptionBusOptions } from './bus-options.js';
import { whenBusTraps } from './bus-trap.js';
import type { BusWatcher, WatcherMaker } from './bus-watcher.js';
import type { Once, PublishedAt } from './once-table.js';
import { type BusStats, RootBus } from './root-bus.js';
import type { RootSessions } from './root-sessions.js';
import { ShardBus } from './shard-bus.js';
import { shardAddress } from './shard-name.js';

/**
 * The bus as a Durable Object: give it a binding and a `new_sqlite_classes` migration, and export
 * it from the Worker. It logs each event in SQLite, sends it to the sockets of the streams that want it,
 * and hibernates between events. When it holds more streams than one object should, it opens shards: further
 * objects of this class, by other names, that hold them.
 */
export class SubscriptionBus<Env = unknown> extends DurableObject<Env> {
  /** Options for every bus of this class: override it in a class of your own. */
  static options: SubscriptionBusOptions = {};
  /** Brings changes from elsewhere to each bus of this class, as `watchUpstream` does; nothing does by default. */
  static watcher: WatcherMaker | undefined = undefined;
  readonly #lapsed = deferred();
  readonly #role: RootBus | ShardBus;
  readonly #watcher: BusWatcher | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // In the object's own context, whoever has called the core.
    void this.#lapsed.promise.then(() => ctx.abort('the core has trapped'));
    whenBusTraps(ctx.id.toString(), this.#lapsed.resolve);
    const own = new.target as typeof SubscriptionBus;
    const name = ctx.id.name ?? '';
    const address = shardAddress(name);
    if (address === undefined) {
      const root = new RootBus(ctx, env, own.options);
      this.#role = root;
      this.#watcher = own.watcher?.(name, root);
      if (ctx.getWebSockets().length > 0) this.#watcher?.stir();
    } else {
      this.#role = new ShardBus(ctx, env, address, own.options);
    }
  }

  /** Takes the socket of one edge, or tells it where to go. */
  override fetch(request: Request): Response {
    return this.#role.fetch(request);
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
   * position, or `key-reused` where it published other events. `signatures-full`: see {@link OnceOptions.signedPublishes}.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishOnce(events: string[], once: Once): Promise<PublishedAt> {
    return this.#root.publishOnce(events, once);
  }

  /** What this bus is doing, or this shard. */
  stats(): BusStats {
    return this.#role.stats();
  }

  /** A shard of this bus told what it follows, in words of the core. */
  follow(shard: number, call: string): string {
    const answer = this.#root.follow(shard, call);
    this.#watcher?.stir();
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

  /** Begins a session; answers false where there are `limit` of them already. */
  createSession(session: NewSession, limit: number): Promise<boolean> {
    return this.#sessions.create(session, limit);
  }

  /** The session, which counts as used now, unless it is unknown, over, or another principal's. */
  findSession(id: string, principal: string | undefined): SessionState | undefined {
    return this.#sessions.find(id, principal);
  }

  /** The client of a session has said that it is ready; its stream goes on. */
  async initializeSession(id: string): Promise<void> {
    await this.#sessions.initialized(id);
  }

  /** The resources that a session watches. */
  watchedInSession(id: string): string[] {
    return this.#sessions.watched(id);
  }

  /** Watches a resource in a session; answers false where it watches `limit` of them already. */
  async watchInSession(id: string, uri: string, limit: number): Promise<boolean> {
    const isWatched = await this.#sessions.watch(id, uri, limit);
    this.#watcher?.stir();
    return isWatched;
  }

  /** Watches a resource in a session no longer. */
  async unwatchInSession(id: string, uri: string): Promise<void> {
    await this.#sessions.unwatch(id, uri);
    this.#watcher?.stir();
  }

  /** Ends a session and its stream. */
  async endSession(id: string): Promise<void> {
    await this.#sessions.end(id);
    this.#watcher?.stir();
  }

  /** Does what waited for its time. */
  override async alarm(): Promise<void> {
    if (this.#role instanceof RootBus) await this.#role.alarm();
    await this.#watcher?.alarm();
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#role.receive(socket, frame);
    this.#watcher?.stir();
  }

  override webSocketClose(socket: WebSocket): void {
    this.#role.closed(socket);
    this.#watcher?.stir();
  }

  override webSocketError(socket: WebSocket): void {
    this.#role.closed(socket);
    this.#watcher?.stir();
  }

  get #root(): RootBus {
    if (this.#role instanceof RootBus) return this.#role;
    throw new Error('this object is a shard: its root has to be asked');
  }

  get #shard(): ShardBus {
    if (this.#role instanceof ShardBus) return this.#role;
    throw new Error('this object is no shard');
  }

  get #sessions(): RootSessions {
    return this.#root.sessions;
  }
}
