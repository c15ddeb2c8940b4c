import { DeadlineTimer } from '../deadline-timer.js';
import { calling } from '../error.js';
import type { SubscriptionFilter } from '../filter.js';
import { type BatchCall, ChangeKind, type FollowReply, Root } from '../wasm.js';
import type { AlarmClock } from './alarm-clock.js';
import type { EventLog } from './event-log.js';
import { objectOf, type ShardStub } from './shard-stub.js';
import { ShardTable } from './shard-table.js';
import { isOverloaded } from './stub-error.js';

/** One shard, as its root knows it. */
export interface ShardStats {
  /** Counts the shards of one bus, from 1. */
  shard: number;
  /** The continent whose clients it was opened for; empty where that was not known. */
  continent: string;
  /** Streams attached, as it told last; undefined where it has not told since the root was last woken. */
  attached: number | undefined;
}

/** What the shards of a root need of it. */
export interface ShardHost {
  sql: SqlStorage;
  log: EventLog;
  alarm: AlarmClock;
  /** The name of the bus. */
  bus: string;
  namespace: DurableObjectNamespace;
  edgesPerShard: number;
  /** What the root's own edges leave for the names that shards follow, and what those take of it. */
  room: { readonly spare: number; setElsewhere(bytes: number): void };
  /** The root's own edges have to come back, and are then sent on. */
  onopened(): void;
  /** There is one shard less. */
  onclosed(shard: number): void;
}

/** The shards of a root: what the core decides about them is made durable, and its calls are made. */
export class RootShards {
  readonly #host: ShardHost;
  readonly #table: ShardTable;
  readonly #root: Root;
  readonly #timer = new DeadlineTimer(() => this.#tick());

  constructor(host: ShardHost) {
    this.#host = host;
    this.#table = new ShardTable(host.sql);
    const { epoch, floor, position } = host.log;
    const { last, settled = position } = this.#table;
    this.#root = new Root(epoch, position, settled, last, host.edgesPerShard);
    this.#table.restore(this.#root);
    if (this.#root.hasShards) this.#restoreEvents(settled, floor);
    host.room.setElsewhere(this.#root.names);
  }

  /** Which shards there are. */
  get stats(): ShardStats[] {
    const { shards } = this.#table;
    return shards.map(({ shard, continent }) => ({ shard, continent, attached: this.#root.edges(shard) }));
  }

  /** What the streams of all shards want together. */
  get wanted(): SubscriptionFilter {
    return JSON.parse(this.#root.wanted) as SubscriptionFilter;
  }

  /** The shard where an edge has to go; undefined: the root takes it, which holds `own`. The shard `full` has refused it. */
  place(continent: string, own: number, full: number | undefined): number | undefined {
    const shard = this.#root.place(continent, own, full);
    this.flush();
    return shard === 0 ? undefined : shard;
  }

  /** An event was logged, given as JSON text. {@link flush} sends it. */
  publish(position: number, event: string, now: number): void {
    if (this.#root.hasShards) this.#root.publish(position, event, now);
    else this.#root.advance(position);
  }

  /** Sends what is owed to shards. An alarm, durable with what has happened, sees to it that none of it is forgotten. */
  flush(): void {
    this.#keep();
    this.#host.room.setElsewhere(this.#root.names);
    if (!this.#root.isSettled) this.#host.alarm.wakeWithThis(Date.now() + SETTLE_MS);
    for (let call = this.#next(); call !== undefined; call = this.#next()) void this.#call(call);
    this.#timer.set(this.#root.deadline);
  }

  /** The alarm has rung; answers when it is wanted again. */
  settle(): number | undefined {
    this.#root.settle();
    this.flush();
    return this.#root.isSettled ? undefined : Date.now() + AGAIN_MS;
  }

  /** A shard told what it follows; `join` takes in the sessions whose streams have come and gone there. */
  follow(shard: number, call: string, join: (reply: FollowReply, root: Root) => void): string {
    const { log } = this.#host;
    this.#root.setRoom(this.#host.room.spare);
    const reply = calling(() => this.#root.follow(shard, call, log.floor));
    join(reply, this.#root);
    const { replayAfter } = reply;
    if (replayAfter !== undefined) {
      for (const { position, event } of log.after(replayAfter)) reply.pushEvent(this.#root, position, event);
    }
    const answer = reply.finish();
    this.flush();
    return answer;
  }

  /** Tells a shard something about a session. */
  async tellSession(shard: number, call: string): Promise<void> {
    await this.#stub(shard).tellSession(call);
  }

  #restoreEvents(settled: number, floor: number): void {
    this.#root.restoreFloor(floor);
    for (const { position, event } of this.#host.log.after(Math.max(settled, floor))) {
      this.#root.restoreEvent(position, event);
    }
  }

  #next(): BatchCall | undefined {
    return this.#root.batch(performance.now());
  }

  #keep(): void {
    for (let change = this.#root.change(); change !== undefined; change = this.#root.change()) {
      const { kind, shard } = change;
      this.#table.keep(change);
      change.free();
      if (kind === ChangeKind.Opened) this.#host.onopened();
      if (kind === ChangeKind.Closed) this.#host.onclosed(shard);
    }
  }

  /** A call that fails is made again when the core says so. */
  async #call(batch: BatchCall): Promise<void> {
    const { call, shard, text } = batch;
    batch.free();
    try {
      const answer = await this.#stub(shard).deliver(text);
      this.#root.taken(shard, call, answer, performance.now(), Math.random());
    } catch (error) {
      this.#root.failed(shard, call, isOverloaded(error), performance.now(), Math.random());
    }
    this.flush();
  }

  #tick(): void {
    this.#root.timeout(performance.now(), Math.random());
    this.flush();
  }

  /** A fresh stub for each call: one that has failed once may go on failing. */
  #stub(shard: number): ShardStub {
    const { bus, namespace } = this.#host;
    return objectOf<ShardStub>(namespace, { bus, shard }, this.#table.continent(shard));
  }
}

/** Milliseconds after a publish until what the shards have taken is written down, once for all publishes meanwhile. */
const SETTLE_MS = 1_000;
/** Milliseconds until the alarm rings again while a shard does not answer. */
const AGAIN_MS = 5_000;
