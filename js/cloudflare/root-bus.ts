import { calling } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import { report } from '../report.js';
import { Bus, type Following, normalizeEvent, type Publication } from '../wasm.js';
import { AlarmClock } from './alarm-clock.js';
import { CONTINENT_HEADER, FULL_HEADER, SHARD_HEADER } from './bus-header.js';
import type { BusKey } from './bus-key.js';
import { edgesPerShard, namesBytes, type SubscriptionBusOptions, shardCloseMs } from './bus-options.js';
import type { WatchedBus } from './bus-watcher.js';
import { FULL, MOVED, NORMAL, RELEASED, TRY_AGAIN_LATER } from './close-code.js';
import { EdgeSockets } from './edge-sockets.js';
import { EventLog } from './event-log.js';
import { Interests } from './interests.js';
import { type Once, OnceTable, type PublishedAt } from './once-table.js';
import { ownNamespace } from './own-namespace.js';
import { type Publish, PublishQueue } from './publish-queue.js';
import { RootSessions } from './root-sessions.js';
import { RootShards, type ShardStats } from './root-shards.js';
import { shardAddress, shardName } from './shard-name.js';

/** What a bus is doing. */
export interface BusStats {
  /** Streams attached, at shards as far as these have told. Those of an isolate that share a socket count as one. */
  attached: number;
  /** Sockets open at the object itself, attached or not. */
  sockets: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
  /** Frames from edges that had to be dropped since the object was last woken. */
  dropped: number;
  /** The shards that hold the streams, where there are more than one object holds. */
  shards: ShardStats[];
}

/** The object that a bus begins with: it holds the log and the sessions, and the streams until they are too many. */
export class RootBus implements WatchedBus {
  /** The sessions of clients of earlier revisions. */
  readonly sessions: RootSessions;
  readonly #ctx: DurableObjectState;
  readonly #bus: string;
  readonly #key: BusKey;
  readonly #log: EventLog;
  readonly #interests: Interests;
  readonly #core: Bus;
  readonly #edges: EdgeSockets;
  readonly #alarm: AlarmClock;
  readonly #shards: RootShards | undefined;
  readonly #publishes: PublishQueue;
  readonly #once: OnceTable;
  #dropped = 0;

  constructor(ctx: DurableObjectState, env: unknown, options: SubscriptionBusOptions, key: BusKey) {
    const { sql } = ctx.storage;
    this.#ctx = ctx;
    this.#bus = ctx.id.name ?? '';
    this.#key = key;
    this.#log = new EventLog(sql, options);
    this.#once = new OnceTable(sql, options);
    this.#interests = new Interests(sql);
    this.#alarm = new AlarmClock(ctx.storage);
    this.#core = new Bus(this.#log.epoch, this.#log.position, this.#log.floor);
    this.#core.setRoom(namesBytes(options), edgesPerShard(options));
    this.#edges = new EdgeSockets(
      {
        last: (edge) => this.#core.last(edge),
        seq: (edge) => this.#core.seq(edge),
        disconnect: (edge) => this.#core.disconnect(edge, Date.now()),
      },
      this.#interests,
    );
    // What its shards would refuse, it refuses before there are any.
    shardCloseMs(options);
    this.#shards = this.#shardsOf(env, edgesPerShard(options));
    this.sessions = this.#sessionsOf();
    this.#publishes = new PublishQueue(ctx.storage, (publishes) => this.#publish(publishes));
    const sockets = ctx.getWebSockets();
    this.#interests.keepOnly(sockets);
    for (const socket of sockets) this.#restore(socket);
  }

  /** Accepts the socket of one edge and tags it, or says to which shard the edge has to go. */
  accept({ headers }: Request, tag: string): Response {
    const shard = this.#place(headers);
    if (shard !== undefined) {
      return new Response(null, { status: 421, headers: { [SHARD_HEADER]: shardName({ bus: this.#bus, shard }) } });
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server, [tag]);
    this.#edges.enter(server, this.#core.connect());
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Publishes events, each given as JSON text: all of them or none. Resolves with the position of the last one. */
  async publishAll(events: string[]): Promise<number> {
    for (const event of events) calling(() => normalizeEvent(event));
    return Number(await this.#publishes.add({ events }));
  }

  /** The same, unless it was made before, or cannot be made. */
  async publishOnce(events: string[], once: Once): Promise<PublishedAt> {
    for (const event of events) calling(() => normalizeEvent(event));
    return await this.#publishes.add({ events, once });
  }

  /** What all the streams want together, here and at shards. */
  get wanted(): SubscriptionFilter {
    return JSON.parse(this.#core.wanted) as SubscriptionFilter;
  }

  /** Rings the alarm at `at` or before. */
  wakeBy(at: number): Promise<void> {
    return this.#alarm.wakeBy(at);
  }

  /** What this bus is doing. */
  stats(): BusStats {
    const shards = this.#shards?.stats ?? [];
    const attached = shards.reduce((sum, shard) => sum + (shard.attached ?? 0), this.#core.attached);
    const sockets = this.#ctx.getWebSockets().length;
    const { position } = this.#log;
    return { attached, sockets, position, sessions: this.sessions.count, dropped: this.#dropped, shards };
  }

  /** A shard told what it follows. */
  follow(shard: number, call: string): string {
    const answer = this.#shards?.follow(shard, call) ?? '';
    this.#tend();
    return answer;
  }

  /** Ends the sessions that have idled for too long, and writes down what the shards have taken. */
  async alarm(): Promise<void> {
    this.#alarm.rung();
    const again = this.#shards?.settle();
    this.sessions.sweep();
    for (const at of [again, this.sessions.nextEnd]) {
      if (at !== undefined) await this.#alarm.wakeBy(at);
    }
  }

  /** A frame came from an edge. */
  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.edge(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#core.receive(edge, frame, Date.now());
    switch (received.kind) {
      case 'followed':
        this.#answer(socket, edge, received);
        break;
      case 'full':
        this.#leave(socket, FULL);
        break;
      case 'released':
        this.#leave(socket, RELEASED);
        break;
      case 'detached':
        this.#leave(socket, NORMAL);
        break;
      default:
        this.#dropped += 1;
    }
  }

  /** The socket of an edge has closed. */
  closed(socket: WebSocket): void {
    this.#leave(socket, NORMAL);
  }

  /** Everything is in the log, in one transaction, before any of it is sent. */
  #publish(publishes: Publish[]): PublishedAt[] {
    const logged = this.#transaction(() => publishes.map((publish) => this.#logged(publish)));
    this.#core.trimmed(this.#log.floor);
    this.#shards?.flush();
    for (const { edges, message } of logged.flatMap(({ deliveries }) => deliveries)) {
      for (const edge of edges) this.#send(edge, message);
    }
    this.#edges.settle();
    return logged.map(({ position }) => position);
  }

  /** Resets the object where the disk fails: the core is ahead of the disk then, and begins again from it. */
  #transaction<T>(write: () => T): T {
    try {
      return this.#ctx.storage.transactionSync(write);
    } catch (error) {
      this.#ctx.abort(`the log could not be written: ${error}`);
      throw error;
    }
  }

  #shardsOf(env: unknown, perShard: number): RootShards | undefined {
    const namespace = ownNamespace(this.#ctx, env);
    if (namespace === undefined) return undefined;
    return new RootShards({
      sql: this.#ctx.storage.sql,
      log: this.#log,
      alarm: this.#alarm,
      bus: this.#bus,
      namespace,
      edgesPerShard: perShard,
      core: this.#core,
      onopened: () => this.#moveOut(),
    });
  }

  #sessionsOf(): RootSessions {
    return new RootSessions({
      sql: this.#ctx.storage.sql,
      alarm: this.#alarm,
      core: this.#core,
      bus: this.#bus,
      key: this.#key,
      shards: this.#shards,
      send: (edge, frame) => this.#tell(edge, frame),
      release: (edge) => this.#release(edge),
      onfailure: (error) => this.#ctx.abort(`a session could not be read or written: ${error}`),
    });
  }

  #place(headers: Headers): number | undefined {
    const full = shardAddress(headers.get(FULL_HEADER) ?? '')?.shard;
    return this.#shards?.place(headers.get(CONTINENT_HEADER) ?? '', this.#edges.size, full);
  }

  /** Edges come back and are sent to shards; what they miss meanwhile is replayed there. */
  #moveOut(): void {
    for (const socket of this.#ctx.getWebSockets()) this.#leave(socket, MOVED);
  }

  /** Writes a publish to the log, unless it was made before. */
  #logged({ events, once }: Publish): { deliveries: Delivery[]; position: PublishedAt } {
    const now = Date.now();
    const former = once && this.#once.settle(once, now);
    if (former !== undefined) return { deliveries: [], position: former };
    const deliveries = events.flatMap((event) => this.#append(event));
    const { position } = this.#log;
    if (once !== undefined) this.#once.keep(once, position, now);
    return { deliveries, position };
  }

  /** Writes one event to the log, and answers with its frames and whom they go to. */
  #append(event: string): Delivery[] {
    const now = Date.now();
    const { deliveries, position } = calling(() => this.#core.publish(event, now));
    this.#log.append(position, event, now);
    return deliveries;
  }

  /** What cannot be restored is closed, so that its edge comes back: it must not stay and hear nothing. */
  #restore(socket: WebSocket): void {
    try {
      const kept = this.#interests.get(socket);
      const { last, seq, session } = this.#interests.told(socket);
      const edge = kept === undefined ? this.#core.connect() : this.#core.restore(kept, last, seq, session);
      this.#edges.enter(socket, edge);
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  /** Keeps what an edge follows from now on, before it is told so. */
  #answer(socket: WebSocket, edge: number, { change, keepsAll, replayAfter, session }: Following): void {
    const kept = (): string[] => this.#core.kept(edge);
    if (change !== undefined) this.#interests.change(socket, change, kept);
    if (keepsAll) this.#interests.put(socket, kept(), session);
    this.#tend();
    if (replayAfter !== undefined) this.#replay(edge, replayAfter);
    for (const frame of this.#core.finish()) this.#send(edge, frame);
    this.#edges.settle();
  }

  #replay(edge: number, after: number): void {
    this.#recall();
    for (const { position, event } of this.#log.at(this.#core.missed(edge, after)))
      this.#core.pushEvent(position, event);
  }

  /** The log is read once, for the first edge that has missed something: a thousand may come back at once. */
  #recall(): void {
    if (this.#core.recalls) return;
    for (const { position, event } of this.#log.after(this.#log.floor)) this.#core.recall(position, event);
  }

  /** Where the socket has died, its edge will notice too, and come back. */
  #send(edge: number, frame: string): void {
    const socket = this.#edges.socket(edge);
    if (socket !== undefined && !this.#edges.send(edge, frame)) this.#leave(socket, TRY_AGAIN_LATER);
  }

  /** Sends one frame that no other follows in this turn. */
  #tell(edge: number, frame: string): void {
    this.#send(edge, frame);
    this.#edges.settle();
  }

  /** Does what sessions want whose streams have come or gone. */
  #tend(): void {
    this.sessions.flush().catch(report);
  }

  #release(edge: number): void {
    const socket = this.#edges.socket(edge);
    if (socket !== undefined) this.#leave(socket, RELEASED);
  }

  #leave(socket: WebSocket, code: number): void {
    if (!this.#edges.leave(socket)) return;
    this.#interests.delete(socket);
    socket.close(code);
  }
}

type Delivery = Publication['deliveries'][number];
