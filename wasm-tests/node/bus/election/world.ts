import type { WantedOptions } from 'mcp-listen';
import type { TopicGrant } from '../../../../dist/bus/wanted/interest.js';
import { ProcessInterest } from '../../../../dist/bus/wanted/process-interest.js';
import { pause } from '../../../host/pause.ts';

/** A topic of one resource, as text. */
export type TopicText = `resource:${string}`;

/** Processes of one bus, whose signals arrive late and may be lost. */
export class World {
  readonly problems: string[] = [];
  readonly #random: () => number;
  readonly #all: Process[] = [];
  /** The share of signals that are lost. */
  loss = 0;
  /** When a signal was lost last, or a process began. */
  unsettledAt = 0;

  /** @param random - returns numbers from 0 to 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  get alive(): Process[] {
    return this.#all.filter(({ isAlive }) => isAlive);
  }

  start(): void {
    const process = new Process(this);
    this.#all.push(process);
    this.unsettledAt = performance.now();
    process.interest.peers?.join();
  }

  /** Sends a signal of a process to all others. */
  send(from: Process, text: string): void {
    for (const to of this.alive) {
      if (to === from) continue;
      if (this.#random() < this.loss) this.unsettledAt = performance.now();
      else setTimeout(() => to.isAlive && to.interest.peers?.receive(text), this.delay(50));
    }
  }

  /** Whether signals may have been lost. */
  hasLost = false;
  /** What the hooks have registered at another system, which all processes share. */
  readonly registered = new Set<TopicText>();

  /** Returns up to this many milliseconds. */
  delay(most: number): number {
    return this.#random() * most;
  }

  /** Whether every process knows every other one and each of their topics. */
  get isSettled(): boolean {
    return this.loss === 0 && performance.now() - this.unsettledAt > SETTLED_MS;
  }

  /** The processes that keep a topic between `onWanted` and `onUnwanted`. */
  keepersOf(topic: TopicText): Process[] {
    return this.alive.filter((process) => process.keeps(topic));
  }

  /** The open streams with a topic. */
  streamsOf(topic: TopicText): Stream[] {
    return this.alive.flatMap(({ streams }) => [...streams].filter((it) => it.topic === topic));
  }
}

/** A stream that was acknowledged. */
interface Stream {
  topic: TopicText;
  grant: TopicGrant;
  openedAt: number;
}

/** A process, whose hooks take a while, and check when they are called. */
class Process {
  readonly streams = new Set<Stream>();
  readonly interest: ProcessInterest;
  readonly #world: World;
  readonly #states = new Map<TopicText, 'starting' | 'on' | 'stopping'>();
  isAlive = true;

  constructor(world: World) {
    this.#world = world;
    const wanted: WantedOptions = {
      unwantedMs: 1_000,
      onWanted: (topic, { isAgain }) => this.#begin(textOf(topic), isAgain),
      onUnwanted: (topic, { isTaken }) => this.#end(textOf(topic), isTaken),
    };
    this.interest = new ProcessInterest({
      wanted,
      context: { bus: undefined, publish: async () => {} },
      onError: (error) => world.problems.push(`${error.message}`),
      sessions: { wants: () => false, change: () => ({ topics: [], isWhole: false }) },
      signal: async (text) => {
        if (this.isAlive) world.send(this, text);
      },
    });
  }

  keeps(topic: TopicText): boolean {
    return this.#states.get(topic) === 'on';
  }

  async open(topic: TopicText): Promise<void> {
    const grant = await this.interest.want([topic]);
    if (this.isAlive && grant.refused.length === 0)
      this.streams.add({ topic, grant, openedAt: performance.now() });
  }

  close(index: number): void {
    const stream = [...this.streams][index % this.streams.size];
    if (stream === undefined) return;
    this.streams.delete(stream);
    stream.grant.release();
  }

  /** Dies without a word. */
  kill(): void {
    this.isAlive = false;
    // No other process learns what this one has just undone.
    this.#world.hasLost ||= this.#isUndoing;
  }

  /** Whether a hook is undoing what another process may have done since. */
  get #isUndoing(): boolean {
    return [...this.#states.values()].includes('stopping');
  }

  async stop(): Promise<void> {
    this.streams.clear();
    await this.interest.close();
    this.isAlive = false;
  }

  async #begin(topic: TopicText, isAgain: boolean): Promise<void> {
    if (!this.isAlive) return;
    this.#expect(!this.#states.has(topic), `${topic} is begun while it is kept`);
    this.#expect(isAgain || !this.#hasLost(topic), `${topic} is begun as if it were new`);
    this.#states.set(topic, 'starting');
    await pause(this.#world.delay(300));
    this.#states.set(topic, 'on');
    this.#world.registered.add(topic);
  }

  async #end(topic: TopicText, isTaken: boolean): Promise<void> {
    if (!this.isAlive) return;
    this.#expect(this.keeps(topic), `${topic} is ended while it is not kept`);
    this.#states.set(topic, 'stopping');
    if (!isTaken) this.#world.registered.delete(topic);
    await pause(this.#world.delay(300));
    this.#states.delete(topic);
  }

  /** Whether a stream of the bus may have missed a change, because no process kept the topic. */
  #hasLost(topic: TopicText): boolean {
    if (!this.#world.isSettled || this.#world.keepersOf(topic).length > 0) return false;
    const known = performance.now() - SPREAD_MS;
    return this.#world.streamsOf(topic).some(({ openedAt }) => openedAt < known);
  }

  #expect(isSo: boolean, problem: string): void {
    if (!isSo) this.#world.problems.push(`${problem}, at ${performance.now()}`);
  }
}

function textOf(topic: Parameters<NonNullable<WantedOptions['onWanted']>>[0]): TopicText {
  return `resource:${'uri' in topic ? topic.uri : ''}`;
}

/** Milliseconds after the last loss until every process has noticed it. */
const SETTLED_MS = 5_000;
/** Milliseconds within which the topic of a new stream reaches every process. */
const SPREAD_MS = 500;
