import { report } from '../../../observe/on-error.js';
import { DeadlineTimer } from '../../../timing/deadline-timer.js';
import type { Bus, BusOutput } from '../../../wasm/server/bindings.js';
import { isOverloaded } from '../../wire/retry.js';
import { objectOf, type ShardStub } from '../../wire/stubs.js';
import type { AlarmScheduler } from '../alarm.js';
import { ShardTable } from '../tables/shards.js';

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
  /** Where the log ends: a bus without shards owes nothing before. */
  settled: number;
  alarm: AlarmScheduler;
  /** The name of the bus. */
  bus: string;
  namespace: DurableObjectNamespace;
  edgesPerShard: number;
  core: Bus;
  /** Does what the core wants done. */
  tend(): void;
}

/** The shards of a root: what the core decides about them is made durable, and its calls are made. */
export class RootShards {
  readonly #host: ShardHost;
  readonly #table: ShardTable;
  readonly #timer = new DeadlineTimer(() => this.#tick());

  constructor(host: ShardHost) {
    this.#host = host;
    this.#table = new ShardTable(host.sql);
    const { last, rows, settled = host.settled } = this.#table;
    host.core.setShards(settled, last, host.edgesPerShard, rows);
  }

  /** Which shards there are. */
  get stats(): ShardStats[] {
    const { shards } = this.#table;
    return shards.map(({ shard, continent }) => ({
      shard,
      continent,
      attached: this.#host.core.edgesAt(shard),
    }));
  }

  /** Does one thing that the core wants done; the promise is of what a request waits for. */
  do(output: BusOutput): Promise<void> | undefined {
    switch (output.kind) {
      case 'batch':
        void this.#call(output);
        return undefined;
      case 'tell':
        return this.#tell(output);
      case 'opened':
      case 'leaving':
      case 'closed':
      case 'follows':
      case 'settled':
        this.#table.keep(output);
        return undefined;
      default:
        return undefined;
    }
  }

  /** Sees to it that nothing that is owed to shards is forgotten: by an alarm, durable with what has happened. */
  tend(): void {
    const { deadline, isSettled } = this.#host.core.state();
    if (!isSettled) this.#host.alarm.wakeWithThis(Date.now() + SETTLE_MS);
    this.#timer.set(deadline);
  }

  #tell({
    isAwaited,
    shard,
    text,
  }: Extract<BusOutput, { kind: 'tell' }>): Promise<void> | undefined {
    const told = this.#tellSession(shard, text);
    // Where this fails, or the object is reset, the core tells it again.
    this.#host.alarm.wakeWithThis(Date.now() + AGAIN_MS);
    if (isAwaited) return told;
    told.catch(report);
    return undefined;
  }

  async #tellSession(shard: number, text: string): Promise<void> {
    await this.#stub(shard).tellSession(text);
    this.#host.core.told(shard, text);
  }

  /** A call that fails is made again when the core says so. */
  async #call({ call, shard, text }: Extract<BusOutput, { kind: 'batch' }>): Promise<void> {
    try {
      const answer = await this.#stub(shard).deliver(text);
      this.#host.core.answered(shard, call, answer, performance.now(), Math.random());
    } catch (error) {
      this.#host.core.failed(shard, call, isOverloaded(error), performance.now(), Math.random());
    }
    this.#host.tend();
  }

  #tick(): void {
    this.#host.core.timeout(performance.now(), Math.random());
    this.#host.tend();
  }

  /** A fresh stub for each call: one that has failed once may go on failing. */
  #stub(shard: number): ShardStub {
    const { bus, namespace } = this.#host;
    return objectOf<ShardStub>(namespace, { bus, shard }, this.#table.continent(shard));
  }
}

/** Milliseconds until the alarm rings again while a shard does not answer. */
export const AGAIN_MS = 5_000;

/** Milliseconds after a publish until what the shards have taken is written down, once for all publishes meanwhile. */
const SETTLE_MS = 1_000;
