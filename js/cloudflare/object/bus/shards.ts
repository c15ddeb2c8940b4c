import type { ShardStats } from '../../../model/stats/bus.js';
import { report } from '../../../observe/on-error.js';
import { DeadlineTimer } from '../../../timing/deadline-timer.js';
import { withTimeout } from '../../../timing/with-timeout.js';
import type { Bus, BusOutput } from '../../../wasm/server/bindings.js';
import type { ObjectReply, OperatorQuestion } from '../../wire/operate.js';
import { outcomeOf } from '../../wire/retry.js';
import { type BusNamespace, type ShardStub, shardStub } from '../../wire/stubs.js';
import type { AlarmScheduler } from '../alarm.js';
import { ShardTable } from '../tables/shards.js';

/** What {@link RootShards} needs from its root. */
export interface ShardHost {
  sql: SqlStorage;
  /** The last position of the log: a bus without shards has nothing to deliver before it. */
  settled: number;
  alarm: AlarmScheduler;
  /** The name of the bus. */
  bus: string;
  namespace: BusNamespace;
  edgesPerShard: number;
  core: Bus;
  /** Carries out the pending outputs of the core; with a `random`, after its deadline has come. */
  runOutputs(random?: number): void;
}

/** The shards of a root: stores what the core decides about them, and makes its calls. */
export class RootShards {
  readonly #host: ShardHost;
  readonly #table: ShardTable;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  /** When edges last began to move to another object, in milliseconds since 1970. */
  #movedAt = 0;

  constructor(host: ShardHost) {
    this.#host = host;
    this.#table = new ShardTable(host.sql);
    const { last, rows, settled = host.settled } = this.#table;
    host.core.setShards(settled, last, host.edgesPerShard, rows);
  }

  /** The shards and their counters. */
  get stats(): ShardStats[] {
    const { shards } = this.#table;
    return shards.map(({ shard, continent }) => ({
      shard,
      continent,
      attached: this.#host.core.edgesAt(shard),
    }));
  }

  /**
   * Asks each shard a question of an operator. A shard that does not reply has no `attached`. While
   * edges move, their isolates cannot be asked: waits until they have reconnected, and asks again
   * if a move has begun meanwhile.
   */
  async ask(question: OperatorQuestion): Promise<ObjectReply[]> {
    await this.#reconnected();
    const movedAt = this.#movedAt;
    const replies = await Promise.all(
      this.#table.shards.map((shard) => this.#askShard(shard, question)),
    );
    return movedAt === this.#movedAt ? replies : this.ask(question);
  }

  /** Resolves once edges that move have had the time to reconnect. */
  async #reconnected(): Promise<void> {
    for (let due = this.#movedAt + MOVE_MS; Date.now() < due; due = this.#movedAt + MOVE_MS) {
      await scheduler.wait(due - Date.now());
      // If this process has stood still, so have edges in it: their delays have ended only now.
      if (Date.now() - due > LATE_MS) await scheduler.wait(RECONNECT_MS);
    }
  }

  async #askShard(
    { continent, shard }: Pick<ShardStats, 'continent' | 'shard'>,
    question: OperatorQuestion,
  ): Promise<ObjectReply> {
    const place = { shard, continent };
    try {
      const reply = await withTimeout(SHARD_MS, this.#stub(shard).operate(question), late);
      return { ...reply, objects: reply.objects.map((object) => ({ ...object, ...place })) };
    } catch {
      return { objects: [{ ...place, attached: undefined, sockets: {} }], reports: [], log: [] };
    }
  }

  /** Carries out one output of the core; returns a promise for a call that a request waits for. */
  handleOutput(output: BusOutput): Promise<void> | undefined {
    if (this.#movesEdges(output)) this.#movedAt = Date.now();
    switch (output.kind) {
      case 'batch':
        void this.#call(output);
        return undefined;
      case 'callShard':
        return this.#callSession(output);
      case 'opened':
      case 'leaving':
      case 'closed':
      case 'follows':
      case 'settled':
        this.#table.store(output);
        return undefined;
      default:
        return undefined;
    }
  }

  /**
   * Sets an alarm, written together with the latest changes, so that no shard misses what is
   * pending for it.
   */
  scheduleWork(): void {
    const { deadline, isSettled } = this.#host.core.state();
    if (!isSettled) this.#host.alarm.wakeWithWrite(Date.now() + SETTLE_MS);
    this.#timer.set(deadline);
  }

  /** Whether edges lose their sockets here or at a shard by an output, and reconnect elsewhere. */
  #movesEdges(output: BusOutput): boolean {
    const { core } = this.#host;
    if (output.kind === 'opened') return core.state().attached > 0;
    return output.kind === 'leaving' && (core.edgesAt(output.shard) ?? 0) > 0;
  }

  #callSession({
    isAwaited,
    shard,
    text,
  }: Extract<BusOutput, { kind: 'callShard' }>): Promise<void> | undefined {
    const call = this.#notifySession(shard, text);
    // If the call fails or the object is reset, the core repeats the call.
    this.#host.alarm.wakeWithWrite(Date.now() + RETRY_MS);
    if (isAwaited) return call;
    call.catch(report);
    return undefined;
  }

  async #notifySession(shard: number, text: string): Promise<void> {
    await this.#stub(shard).notifySession(text);
    this.#host.core.confirmed(shard, text);
  }

  /** Sends a batch to a shard. The core decides when to repeat a call that fails. */
  async #call({ call, shard, text }: Extract<BusOutput, { kind: 'batch' }>): Promise<void> {
    const { isBusy, reply } = await outcomeOf(() => this.#stub(shard).deliver(text));
    this.#host.core.responded(shard, call, reply, isBusy, performance.now(), Math.random());
    this.#host.runOutputs();
  }

  #tick(): void {
    this.#host.runOutputs(Math.random());
  }

  /** Returns a fresh stub for each call, because a stub that failed once may keep failing. */
  #stub(shard: number): ShardStub {
    const { bus, namespace } = this.#host;
    return shardStub(namespace, { bus, shard }, this.#table.continent(shard));
  }
}

function late(): Error {
  return new Error('the shard did not reply in time');
}

/** Milliseconds within which a shard has to reply to an operator; it waits for its isolates. */
const SHARD_MS = 1_000;

/** Milliseconds within which an edge reconnects once its delay has ended. */
const RECONNECT_MS = 700;
/** Milliseconds within which an edge that moves has reconnected: its delay is at most 1,800. */
const MOVE_MS = 1_800 + RECONNECT_MS;
/** Milliseconds after which a timer counts as late. */
const LATE_MS = 100;

/**
 * Milliseconds until the alarm fires again at the latest while a call is pending. While a shard
 * lacks events it fires after {@link SETTLE_MS}.
 */
export const RETRY_MS = 5_000;

/**
 * Milliseconds after a publish until what the shards have received is stored, once for all
 * publishes meanwhile.
 */
const SETTLE_MS = 1_000;
