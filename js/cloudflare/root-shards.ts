import { DeadlineTimer } from '../deadline-timer.js';
import { calling } from '../error.js';
import type { BatchCall, Bus, Change } from '../wasm.js';
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
  core: Bus;
  /** The root's own edges have to come back, and are then sent on. */
  onopened(): void;
}

/** The shards of a root: what the core decides about them is made durable, and its calls are made. */
export class RootShards {
  readonly #host: ShardHost;
  readonly #table: ShardTable;
  readonly #timer = new DeadlineTimer(() => this.#tick());

  constructor(host: ShardHost) {
    this.#host = host;
    this.#table = new ShardTable(host.sql);
    const { last, settled = host.log.position } = this.#table;
    host.core.setShards(settled, last, host.edgesPerShard);
    this.#table.restore(host.core);
    this.#restoreEvents();
  }

  /** Which shards there are. */
  get stats(): ShardStats[] {
    const { shards } = this.#table;
    return shards.map(({ shard, continent }) => ({ shard, continent, attached: this.#host.core.edgesAt(shard) }));
  }

  /** The shard where an edge has to go; undefined: the root takes it, which holds `own`. The shard `full` has refused it. */
  place(continent: string, own: number, full: number | undefined): number | undefined {
    const shard = this.#host.core.home(continent, own, full);
    this.flush();
    return shard === 0 ? undefined : shard;
  }

  /** Sends what is owed to shards. An alarm, durable with what has happened, sees to it that none of it is forgotten. */
  flush(): void {
    this.#keep();
    if (!this.#host.core.isSettled) this.#host.alarm.wakeWithThis(Date.now() + SETTLE_MS);
    for (let call = this.#next(); call !== undefined; call = this.#next()) void this.#call(call);
    this.#timer.set(this.#host.core.deadline);
  }

  /** The alarm has rung; answers when it is wanted again. */
  settle(): number | undefined {
    this.#host.core.settle();
    this.flush();
    return this.#host.core.isSettled ? undefined : Date.now() + AGAIN_MS;
  }

  /** A shard told what it follows, and which streams of sessions have come and gone there. */
  follow(shard: number, call: string): string {
    const { core, log } = this.#host;
    const following = calling(() => core.follow(shard, call, Date.now()));
    if (following.replayAfter !== undefined) {
      for (const { position, event } of log.after(following.replayAfter)) core.pushEvent(position, event);
    }
    const [answer = ''] = core.finish();
    this.flush();
    return answer;
  }

  /** Tells a shard something about a session. */
  async tellSession(shard: number, call: string): Promise<void> {
    await this.#stub(shard).tellSession(call);
  }

  #restoreEvents(): void {
    const { core, log } = this.#host;
    const after = core.restoreAfter();
    if (after === undefined) return;
    for (const { position, event } of log.after(after)) core.restoreEvent(position, event);
  }

  #next(): BatchCall | undefined {
    return this.#host.core.batch(performance.now());
  }

  #keep(): void {
    const next = (): Change | undefined => this.#host.core.change(Date.now());
    for (let change = next(); change !== undefined; change = next()) {
      this.#table.keep(change);
      if (change.kind === 'opened') this.#host.onopened();
    }
  }

  /** A call that fails is made again when the core says so. */
  async #call({ call, shard, text }: BatchCall): Promise<void> {
    try {
      const answer = await this.#stub(shard).deliver(text);
      this.#host.core.taken(shard, call, answer, performance.now(), Math.random());
    } catch (error) {
      this.#host.core.failed(shard, call, isOverloaded(error), performance.now(), Math.random());
    }
    this.flush();
  }

  #tick(): void {
    this.#host.core.timeout(performance.now(), Math.random());
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
