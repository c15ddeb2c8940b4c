import { MAX_TOPICS, sumListeners } from '../../bus/operator/listeners.js';
import type { BusOperator, Listeners, OperatedStreams } from '../../bus/operator/operator.js';
import { ServedStreams } from '../../bus/operator/served-streams.js';
import type { DrainOrder, Snapshot, SnapshotOptions } from '../../model/stats/snapshot.js';
import { isolateId } from '../../observe/isolate-id.js';
import { sumStats } from '../../observe/sum-stats.js';
import {
  type IsolateReport,
  type ObjectReply,
  type OperatorQuestion,
  readQuestion,
  reportFrame,
} from '../wire/operate.js';
import { unavailable } from '../wire/retry.js';
import type { BusStub } from '../wire/stubs.js';

/** What a {@link DurableObjectOperator} needs of its bus. */
export interface OperatedBus {
  /** Calls the bus object; repeats the call if that is allowed to happen twice. */
  call<T>(mayRepeat: boolean, call: (stub: BusStub) => Promise<T>): Promise<T>;
  /** Returns the topics of the streams of this isolate that the bus has opened. */
  listeners(max: number, hasCallers: boolean): Listeners;
  waitUntil(work: Promise<void>): void;
  onError(error: Error): void;
}

/**
 * Watches and operates a bus from one isolate. Replies to the questions that the objects of the bus
 * ask this isolate, and asks them about all others.
 */
export class DurableObjectOperator implements BusOperator {
  readonly #bus: OperatedBus;
  /** The servers of this isolate. */
  readonly #served = new ServedStreams();
  /** The ids of the latest orders, so that each is carried out once. */
  readonly #orders: string[] = [];

  constructor(bus: OperatedBus) {
    this.#bus = bus;
  }

  /** Adds the streams of a server. */
  add(streams: OperatedStreams): void {
    this.#served.add(streams);
  }

  /** Replies to a frame of an object by `reply`; returns false if it is not a question. */
  respond(frame: string, reply: (frame: string) => void): boolean {
    const question = readQuestion(frame);
    if (question === undefined) return false;
    this.#carryOut(question);
    const report = this.#report(question);
    if (report !== undefined) reply(reportFrame(question.ask, report));
    return true;
  }

  async snapshot(options: SnapshotOptions): Promise<Snapshot> {
    const reply = await this.#bus.call(true, (stub) => stub.operate(options));
    const own = this.#report(options);
    if (own === undefined) throw unavailable('this isolate has no server on the bus', undefined);
    const reports = reportsOf(reply, own);
    const { callers, topics } = sumListeners(reports.map((report) => report.topics));
    return {
      at: Date.now(),
      isolate: isolateId(),
      streams: own.streams,
      ...(reply.bus && { bus: reply.bus }),
      ...(reply.webhooks !== undefined && { webhooks: reply.webhooks }),
      objects: reply.objects,
      isolates: reports.map(({ isolate, streams }) => ({ isolate, streams })),
      topics,
      ...(options.hasCallers && { callers }),
      log: reply.log,
    };
  }

  async drain(order: DrainOrder): Promise<string[]> {
    const drain = { ...order, id: crypto.randomUUID() };
    const question = { hasCallers: false, after: Number.MAX_SAFE_INTEGER, drain };
    const reply = await this.#bus.call(true, (stub) => stub.operate(question));
    this.#carryOut(question);
    const isolates = reportsOf(reply, this.#report(question)).map(({ isolate }) => isolate);
    return isolates.filter((isolate) => (order.isolate ?? isolate) === isolate);
  }

  /** Returns how many streams a caller has open in all isolates that reply in time. */
  async listeners(principal: string): Promise<number> {
    const question = { hasCallers: false, after: Number.MAX_SAFE_INTEGER, principal };
    const reply = await this.#bus.call(true, (stub) => stub.operate(question));
    const reports = reportsOf(reply, this.#report(question));
    return reports.reduce((sum, { ofPrincipal = 0 }) => sum + ofPrincipal, 0);
  }

  publish(events: string[]): Promise<number | undefined> {
    return this.#bus.call(false, (stub) => stub.publishAll(events));
  }

  /** Ends streams here, if the question asks this isolate to do so and for the first time. */
  #carryOut({ drain }: OperatorQuestion): void {
    if (drain === undefined || (drain.isolate ?? isolateId()) !== isolateId()) return;
    if (this.#orders.includes(drain.id)) return;
    this.#orders.push(drain.id);
    if (this.#orders.length > MAX_ORDERS) this.#orders.shift();
    let { count } = drain;
    for (const streams of this.#served.all) {
      const drained = streams.drain({ count, windowMs: drain.windowMs });
      this.#bus.waitUntil(drained.catch(this.#bus.onError));
      if (count !== undefined) count = Math.max(0, count - streams.stats().open);
    }
  }

  /** Returns the report of this isolate; undefined if it has no server. */
  #report({ hasCallers, principal }: OperatorQuestion): IsolateReport | undefined {
    const [first, ...others] = this.#served.all;
    if (first === undefined) return undefined;
    const streams = sumStats([first.stats(), ...others.map((server) => server.stats())]);
    const own = [first, ...others].flatMap((server) => server.listeners(MAX_TOPICS, hasCallers));
    return {
      isolate: isolateId(),
      streams,
      topics: [...own, ...this.#bus.listeners(MAX_TOPICS, hasCallers)],
      ...(principal !== undefined && { ofPrincipal: this.#served.streamsOf(principal) }),
    };
  }
}

/** Returns one report for each isolate, that of this isolate first. */
function reportsOf({ reports }: ObjectReply, own: IsolateReport | undefined): IsolateReport[] {
  const byIsolate = new Map<string, IsolateReport>();
  if (own !== undefined) byIsolate.set(own.isolate, own);
  for (const report of reports)
    if (!byIsolate.has(report.isolate)) byIsolate.set(report.isolate, report);
  return [...byIsolate.values()];
}

/** Maximum number of orders whose ids are remembered. */
const MAX_ORDERS = 100;
