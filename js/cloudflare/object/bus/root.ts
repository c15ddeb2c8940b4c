import { CoreSessions } from '../../../bus/core-sessions.js';
import type { EventLogMaker, EventReceipt } from '../../../bus/events.js';
import { type WantedChange, wantedChange, wantedOf } from '../../../bus/wanted/wanted-change.js';
import { calling, ListenError } from '../../../model/error.js';
import type { SubscriptionFilter } from '../../../model/filter.js';
import type { BusStats } from '../../../model/stats/bus.js';
import type { LoggedEvent, SnapshotOptions } from '../../../model/stats/snapshot.js';
import { report } from '../../../observe/on-error.js';
import { Bus, type BusOutput, type Delivery, type Kept } from '../../../wasm/server/bindings.js';
import { CODE_OF, FULL, NORMAL, REDIRECTED, RELEASED } from '../../wire/close-codes.js';
import { shardAddress, shardName } from '../../wire/names.js';
import type { ObjectReply, OperatorQuestion } from '../../wire/operate.js';
import type { IdempotencyKey, PublishedAt } from '../../wire/publish.js';
import { signedSessionId } from '../../wire/signed-session-id.js';
import type { BusNamespace } from '../../wire/stubs.js';
import { CONTINENT_HEADER, FULL_HEADER, SHARD_HEADER } from '../../wire/upgrade.js';
import { AlarmScheduler } from '../alarm.js';
import { EdgeSockets } from '../edge-sockets.js';
import type { BusKey } from '../key.js';
import {
  edgesPerShard,
  namesBytes,
  type SubscriptionBusOptions,
  shardCloseMs,
} from '../options.js';
import { inOwnContext } from '../own-context.js';
import { ownNamespace } from '../own-namespace.js';
import { SocketAttachments } from '../socket-attachments.js';
import { EventLog } from '../tables/event-log.js';
import { EventTable } from '../tables/event-rows.js';
import { IdempotencyKeys } from '../tables/idempotency-keys.js';
import { SessionTable } from '../tables/sessions.js';
import { GroupCommit, type Publish } from './group-commit.js';
import { Occurrences, type Prepared } from './occurrences.js';
import { RETRY_MS, RootShards } from './shards.js';
import type { WatchedBus } from './watcher.js';
import { RootWebhooks } from './webhooks.js';

/**
 * The root of a bus: it holds the log and the sessions, and the streams until there are too many.
 */
export class RootBus implements WatchedBus {
  /** The sessions of clients of earlier revisions. */
  readonly sessions: CoreSessions;
  /** Those that deliver to webhooks; undefined if the class delivers to none. */
  readonly webhooks: RootWebhooks | undefined;
  readonly #ctx: DurableObjectState;
  readonly #bus: string;
  readonly #key: BusKey;
  readonly #log: EventLog;
  readonly #attachments: SocketAttachments;
  readonly #core: Bus;
  readonly #edges: EdgeSockets;
  readonly #alarm: AlarmScheduler;
  readonly #shards: RootShards | undefined;
  readonly #publishes: GroupCommit;
  readonly #idempotencyKeys: IdempotencyKeys;
  readonly #occurrences: Occurrences;
  readonly #sessionTable: SessionTable;
  #dropped = 0;

  /** @param events - opens the log of occurrences; undefined if the bus keeps none. */
  constructor(
    ctx: DurableObjectState,
    env: unknown,
    options: SubscriptionBusOptions,
    key: BusKey,
    events: EventLogMaker | undefined,
  ) {
    const { sql } = ctx.storage;
    this.#ctx = ctx;
    this.#bus = ctx.id.name ?? '';
    this.#key = key;
    this.#log = new EventLog(sql, options);
    this.#idempotencyKeys = new IdempotencyKeys(sql, options);
    this.#alarm = new AlarmScheduler(ctx.storage);
    const namespace = ownNamespace(ctx, env);
    if (events?.deliver !== undefined)
      this.webhooks = new RootWebhooks(ctx.storage, this.#log, this.#alarm, this.#bus, namespace);
    const trapped = inOwnContext(() => ctx.abort('the core has trapped'));
    const store = events?.open(new EventTable(sql), this.#log.epoch, trapped);
    this.#occurrences = new Occurrences(store, this.webhooks);
    this.#attachments = new SocketAttachments(sql);
    this.#sessionTable = new SessionTable(ctx);
    const [nameBytes, edges] = [namesBytes(options), edgesPerShard(options)];
    this.#core = new Bus(this.#log, this.#sessionTable, nameBytes, edges);
    this.#edges = new EdgeSockets(this.#core, Date.now, this.#attachments);
    // Rejects invalid options of shards before there are any shards.
    shardCloseMs(options);
    this.#shards = namespace && this.#shardsOf(namespace, edges);
    this.sessions = this.#newSessions();
    this.#publishes = new GroupCommit(ctx.storage, (publishes) => this.#publish(publishes));
    const sockets = ctx.getWebSockets();
    this.#attachments.prune(sockets);
    for (const socket of sockets) this.#edges.restore(socket);
    this.#core.restored(Date.now());
  }

  /**
   * Accepts the socket of one edge, with these tags, or names the shard to which the edge has to
   * connect.
   */
  accept({ headers }: Request, tags: string[]): Response {
    const shard = this.#shardFor(headers);
    if (shard !== undefined) {
      return new Response(null, {
        status: 421,
        headers: { [SHARD_HEADER]: shardName({ bus: this.#bus, shard }) },
      });
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server, tags);
    this.#edges.add(server, this.#core.connect(undefined, undefined, 0));
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Publishes events, each given as JSON text: all of them or none. Resolves with the position of
   * the last one.
   */
  async publishAll(events: string[]): Promise<number> {
    return Number(await this.#publishes.add({ events }));
  }

  /** Publishes events unless the publish was made before or cannot be made. */
  async publishOnce(events: string[], once: IdempotencyKey): Promise<PublishedAt> {
    return await this.#publishes.add({ events, once });
  }

  /** Publishes an occurrence of MCP Events, given as JSON text. */
  async emit(event: string): Promise<EventReceipt> {
    const receipts: EventReceipt[] = [];
    await this.#publishes.add({ events: [event], appended: (of) => receipts.push(...of) });
    const [receipt] = receipts;
    if (receipt !== undefined) return receipt;
    throw new ListenError('malformed-event', 'the event is not an occurrence');
  }

  /** Returns the page of occurrences for a query, both as text of the core. */
  readEvents(query: string): string {
    return this.#occurrences.page(query, this.#log.position);
  }

  /** The union of what all streams want, here and at shards. */
  get wanted(): SubscriptionFilter {
    return wantedOf(this.#core);
  }

  /** Returns what streams have begun or ceased to subscribe to since the last call. */
  wantedChange(): WantedChange {
    return wantedChange(this.#core);
  }

  /** Returns whether any stream subscribes to the topic with this text, here or at a shard. */
  readonly wants = (topic: string): boolean => this.#core.wants(topic);

  /** Makes the alarm fire at `at` or before, and asks the shards whose turn it is. */
  wakeBy(at: number): Promise<void> {
    this.#runOutputs();
    return this.#alarm.wakeBy(at);
  }

  /** Streams and shared sockets that are attached to the bus object itself. */
  get attached(): number {
    return this.#core.state().attached;
  }

  /** Returns the last events of the log, oldest first. A position beyond its end counts as 0. */
  tail({ after, hasCallers }: SnapshotOptions): LoggedEvent[] {
    // The largest position requests no event.
    const isOfAnother = after > this.#log.position && after < Number.MAX_SAFE_INTEGER;
    const from = isOfAnother ? 0 : after;
    return this.#log.tail(from, from > 0 ? MAX_NEW : MAX_TAIL, hasCallers);
  }

  /** Passes a question of an operator on to the shards. */
  askShards(question: OperatorQuestion): Promise<ObjectReply[]> {
    return this.#shards?.ask(question) ?? Promise.resolve([]);
  }

  /** Returns the counters of this bus. */
  stats(): BusStats {
    const shards = this.#shards?.stats ?? [];
    const attached = shards.reduce((sum, shard) => sum + (shard.attached ?? 0), this.attached);
    const sockets = this.#ctx.getWebSockets().length;
    const { position } = this.#log;
    const sessions = this.sessions.size;
    const webhooks = this.webhooks?.total;
    return { attached, sockets, position, sessions, webhooks, dropped: this.#dropped, shards };
  }

  /** Handles a call of a shard that states what it follows. */
  follow(shard: number, call: string): string {
    const reply = calling(() => this.#core.called(shard, call, Date.now()));
    this.#runOutputs();
    return reply;
  }

  /**
   * Handles the alarm: ends the sessions that were idle for too long, repeats calls about others to
   * shards, and stores up to where the shards have the events.
   */
  async alarm(): Promise<void> {
    this.#alarm.fired();
    this.#core.settle();
    this.sessions.sweep();
    this.#runOutputs();
    const isSettled = this.webhooks?.settle() !== true && this.#core.state().isSettled;
    const again = isSettled ? undefined : Date.now() + RETRY_MS;
    for (const at of [again, this.#sessionTable.nextEnd]) {
      if (at !== undefined) await this.#alarm.wakeBy(at);
    }
  }

  /** Handles a frame of an edge. */
  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.edge(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#core.receive(edge, frame, Date.now());
    switch (received.kind) {
      case 'followed':
        this.#reply(socket, edge, received);
        break;
      case 'full':
        this.#edges.close(socket, FULL);
        break;
      case 'released':
        this.#edges.close(socket, RELEASED);
        break;
      case 'detached':
        this.#edges.close(socket, NORMAL);
        break;
      default:
        this.#dropped += 1;
    }
  }

  /** Handles the close of an edge's socket. */
  closed(socket: WebSocket): void {
    this.#edges.close(socket, NORMAL);
  }

  /** Logs all publishes in one transaction before it sends any of them. */
  #publish(publishes: Publish[]): (PublishedAt | Error)[] {
    const logged = this.#transaction(() =>
      publishes.map((publish) => this.#publishAndLog(publish)),
    );
    this.#runOutputs();
    for (const { edges, text } of logged.flatMap(({ deliveries }) => deliveries)) {
      for (const edge of edges) this.#edges.send(edge, text);
    }
    this.#edges.flushAttachments();
    this.webhooks?.wakeSoon();
    return logged.map(({ position }) => position);
  }

  /**
   * Runs a transaction. Resets the object if the disk fails: the core is then ahead of the disk and
   * has to restart from it.
   */
  #transaction<T>(write: () => T): T {
    try {
      return this.#ctx.storage.transactionSync(write);
    } catch (error) {
      this.#ctx.abort(`the log could not be written: ${error}`);
      throw error;
    }
  }

  #shardsOf(namespace: BusNamespace, perShard: number): RootShards {
    return new RootShards({
      sql: this.#ctx.storage.sql,
      settled: this.#log.position,
      alarm: this.#alarm,
      bus: this.#bus,
      namespace,
      edgesPerShard: perShard,
      core: this.#core,
      runOutputs: (random) => this.#runOutputs(random),
    });
  }

  #newSessions(): CoreSessions {
    return new CoreSessions({
      ...{ isShared: true, rows: this.#sessionTable },
      core: () => this.#core,
      now: () => Date.now(),
      signed: (id) => signedSessionId(this.#key.issue(), this.#bus, id),
      flush: () => this.#flush(),
      wakeBy: (at) => this.#alarm.wakeBy(at),
    });
  }

  #shardFor(headers: Headers): number | undefined {
    const full = shardAddress(headers.get(FULL_HEADER) ?? '')?.shard;
    if (this.#shards === undefined) return undefined;
    const shard = this.#core.place(headers.get(CONTINENT_HEADER) ?? '', this.#edges.size, full);
    this.#runOutputs();
    return shard === 0 ? undefined : shard;
  }

  /**
   * Closes all sockets: their edges reconnect and are redirected to shards, which replay what they
   * missed.
   */
  #redirectAll(): void {
    for (const socket of this.#ctx.getWebSockets()) this.#edges.close(socket, REDIRECTED);
  }

  /** Logs a publish unless it was made before. */
  #publishAndLog({ appended, events: texts, once }: Publish): {
    deliveries: Delivery[];
    position: PublishedAt | Error;
  } {
    const now = Date.now();
    const settled = once && this.#idempotencyKeys.settle(once, now);
    if (settled !== undefined) return { deliveries: [], position: settled };
    const published = this.#publishToCore(texts, now);
    if (published instanceof Error) return { deliveries: [], position: published };
    const { deliveries, events } = published;
    const first = this.#log.position + 1;
    const position = first + events.length - 1;
    for (const [index, event] of events.entries()) this.#log.append(first + index, event, now);
    const receipts = this.#occurrences.append(published, first, now);
    appended?.(receipts);
    if (once !== undefined) this.#idempotencyKeys.store(once, position, now);
    return { deliveries, position };
  }

  /** Publishes to the core. An invalid event fails only its own publish, and changes nothing. */
  #publishToCore(texts: string[], now: number): (Prepared & { deliveries: Delivery[] }) | Error {
    try {
      const prepared = this.#occurrences.prepare(texts);
      const lines = prepared.events.join('\n');
      return { ...prepared, deliveries: calling(() => this.#core.publish(lines, now)) ?? [] };
    } catch (error) {
      return error as Error;
    }
  }

  /** Stores what an edge now follows before it sends the reply. */
  #reply(socket: WebSocket, edge: number, { frames, ...kept }: Kept & { frames: string[] }): void {
    this.#edges.store(socket, edge, kept);
    this.#runOutputs();
    for (const frame of frames) this.#edges.send(edge, frame);
    this.#edges.flushAttachments();
  }

  /** Carries out the pending outputs of the core; with a `random`, after its deadline has come. */
  #runOutputs(random?: number): void {
    Promise.all(this.#drainOutputs(random)).catch(report);
  }

  /**
   * Carries out the pending outputs; resolves once the shards have the calls that a request waits
   * for.
   */
  async #flush(): Promise<void> {
    await Promise.all(this.#drainOutputs());
  }

  #drainOutputs(random?: number): Promise<void>[] {
    const calls: Promise<void>[] = [];
    const next = (due?: number): BusOutput | undefined =>
      this.#core.output(performance.now(), Date.now(), due);
    for (let output = next(random); output !== undefined; output = next()) {
      if (output.kind === 'send') this.#sendAll(output);
      else if (output.kind === 'close') this.#close(output);
      const call = this.#shards?.handleOutput(output);
      if (call !== undefined) calls.push(call);
      if (output.kind === 'opened') this.#redirectAll();
    }
    this.#shards?.scheduleWork();
    return calls;
  }

  #sendAll({ edges, text }: Delivery): void {
    for (const edge of edges) this.#edges.send(edge, text);
    this.#edges.flushAttachments();
  }

  #close({ edge, reason }: Extract<BusOutput, { kind: 'close' }>): void {
    const socket = this.#edges.socket(edge);
    if (socket !== undefined) this.#edges.close(socket, CODE_OF[reason]);
  }
}

/** Maximum events in the first reply to an operator, and in later ones. */
const [MAX_TAIL, MAX_NEW] = [100, 1_000];
