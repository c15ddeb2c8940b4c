import type { BusAttachment, BusLink, BusTally } from '../bus/bus.js';
import { type Deferred, deferred } from '../deferred.js';
import { calling, isBusy, ListenError } from '../error.js';
import type { Log } from '../log.js';
import { Outage } from '../outage.js';
import { SharedFrames } from '../shared-frames.js';
import { coreLife } from '../trap.js';
import { Line, LineCallKind, type Told } from '../wasm.js';
import type { BusDoors } from './bus-doors.js';
import { LineHolder } from './line-holder.js';
import { Rider } from './rider.js';
import { WRITE_BUDGET } from './write-budget.js';

/** What a line tells whoever made it. */
export interface LineOptions {
  doors: BusDoors;
  /** Milliseconds within which the bus has to confirm. */
  attachMs: number;
  /** The continent of its clients; empty where that is not known. */
  continent: string;
  onerror: (error: Error) => void;
  /** Told when all its streams are away, and when they are back. */
  onlog: Log;
  /** A stream could not be written to from another request. */
  onrefused: (error: Error) => void;
}

/**
 * The streams of one isolate on one socket to the bus. The socket belongs to the request of one of them, the holder, and ends
 * with it: then another one opens the next, and the positions of the log heal what fell between. Whether the
 * holder's request still lives is asked all the time, by the others in turns.
 */
export class SharedLine {
  readonly #options: LineOptions;
  readonly #name = crypto.randomUUID();
  readonly #core: Line;
  readonly #life = coreLife();
  /** The oldest first. */
  readonly #riders = new Map<number, Rider>();
  /** Those of them whose requests may have the socket. */
  readonly #fresh = new Set<Rider>();
  readonly #past = { outages: 0, healed: 0, gaps: 0 };
  readonly #outage: Outage;
  #holder: LineHolder | undefined;
  #shedsAt = Number.NEGATIVE_INFINITY;
  #settling: Deferred<void> | undefined;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#core = new Line(this.#name, options.attachMs);
    this.#outage = new Outage(options.onlog);
  }

  /** How its streams fared. */
  get tally(): BusTally {
    return { ...this.#past, away: this.isCurrent && this.#core.isAway ? this.#riders.size : 0 };
  }

  /** Whether the core still knows of it: after a trap its streams end, and a new line takes its place. */
  get isCurrent(): boolean {
    return this.#life === coreLife();
  }

  /** Whether the bus has room on it for one more stream, as far as is known; `filter` is JSON text. */
  hasRoomFor(filter: string): boolean {
    const hasRoom = this.#core.hasRoomFor(filter, performance.now());
    // The bus may have more by now: it is asked.
    if (!hasRoom) this.#stir();
    return hasRoom;
  }

  /** Whether a stream that has received all up to `since` can go on here: the line gave it that mark, or it begins. */
  continues(since: string | undefined): boolean {
    return since === undefined || since.includes(this.#name);
  }

  /** What holds the socket. */
  get holder(): LineHolder | undefined {
    return this.#holder;
  }

  /** Takes in a stream, on behalf of its own request; `filter` is JSON text. */
  attach(filter: string, link: BusLink): BusAttachment {
    const number = calling(() => this.#core.attach(filter, performance.now()));
    const rider = new Rider(link, this.#options.onerror);
    this.#riders.set(number, rider);
    this.#fresh.add(rider);
    if (this.#holder === undefined) this.#appoint(rider);
    else this.#stir();
    this.#watch(rider);
    const isCertain = (): boolean => this.isCurrent && this.#core.isCertain;
    return {
      home: rider.home,
      get isCertain() {
        return isCertain();
      },
      detach: () => this.#leave(number),
      again: (wanted, { since }) => {
        if (!this.isCurrent) return;
        calling(() => this.#core.attachAgain(number, JSON.stringify(wanted), since, performance.now()));
        this.#stir();
      },
    };
  }

  /**
   * Asks the bus, once for all its streams, for what was published before the call; resolves when they have received it. Where the
   * bus does not answer it stays pending.
   */
  settle(): Promise<void> {
    if (!this.isCurrent || this.#riders.size === 0) return Promise.resolve();
    this.#settling ??= deferred();
    const { promise } = this.#settling;
    this.#core.settle(performance.now());
    this.#stir();
    return promise;
  }

  #leave(number: number): void {
    const rider = this.#riders.get(number);
    if (rider === undefined) return;
    this.#riders.delete(number);
    this.#fresh.delete(rider);
    if (this.isCurrent) this.#core.detach(number);
    // It may have been about to hold the socket.
    if (this.isCurrent && (this.#holder === undefined || this.#holder.rider === rider)) this.#handOver(rider);
    rider.leave();
  }

  /** Another stream holds the socket from now on. */
  #handOver(former: Rider): void {
    this.#holder = undefined;
    this.#core.moved(performance.now());
    const next = this.#next(former);
    if (next === undefined) this.#shed();
    next?.home.ask(() => {
      if (this.#holder === undefined && !next.isGone) this.#appoint(next);
    });
  }

  /** Which stream's request gets the socket. One that is alone writes to itself only. */
  #next(former: Rider): Rider | undefined {
    const mayHold = this.#riders.size === 1 ? this.#riders.values() : this.#fresh;
    const riders = [...mayHold].filter((rider) => rider !== former);
    return riders[Math.floor(Math.random() * riders.length)];
  }

  /** Where all requests are spent, ends some of the oldest streams now and then: their clients come back with fresh ones. */
  #shed(): void {
    const now = performance.now();
    const isDue = this.#fresh.size === 0 && this.#riders.size > 1 && now >= this.#shedsAt;
    if (!isDue) return;
    this.#shedsAt = now + WRITE_BUDGET.shedMs;
    const count = Math.ceil(this.#riders.size / WRITE_BUDGET.shedShare);
    const others = [...this.#riders].filter(([, rider]) => rider !== this.#holder?.rider);
    const why = new ListenError('bus-exhausted', 'the requests that share a socket have spent their budget');
    for (const [number] of others.slice(0, count)) this.#part(number, why);
  }

  /** This stream, on behalf of whose request this runs, holds the socket from now on. */
  #appoint(rider: Rider): void {
    const { continent, doors, onerror } = this.#options;
    const holder = new LineHolder(rider, doors, continent, {
      receive: (frame) => {
        if (this.#holder === holder && this.isCurrent) this.#receive(holder, frame);
      },
      lost: (error) => {
        if (this.#holder === holder && this.isCurrent) this.#lose(holder, error);
      },
      sentOn: (error) => {
        if (this.#holder === holder && this.isCurrent) this.#sendOn(holder, error);
      },
      failed: onerror,
      tick: () => {
        if (this.isCurrent) this.#core.timeout(performance.now(), Math.random());
        this.#serve(holder);
      },
      soon: () => this.#serve(holder),
    });
    rider.hold(holder);
    this.#holder = holder;
    this.#serve(holder);
  }

  #receive(holder: LineHolder, frame: string): void {
    const dropped = this.#counting(() => this.#core.receive(frame, performance.now()));
    if (dropped !== undefined) {
      this.#options.onerror(new ListenError('bus-frame-dropped', `a bus frame was dropped: ${dropped}`));
    }
    holder.soon();
  }

  /** What is written for all streams counts as the work of one request, and runtimes limit that: a fresh one goes on. */
  get #mustRetire(): boolean {
    return this.#holder?.rider.isSpent === true && this.#fresh.size > 0;
  }

  #count(writes: number): void {
    const rider = this.#holder?.rider;
    if (rider === undefined) return;
    rider.writes += writes;
    if (rider.isSpent) this.#fresh.delete(rider);
  }

  #retire(holder: LineHolder): void {
    holder.rider.release(holder);
    this.#handOver(holder.rider);
  }

  /** What a line goes through, each of its streams does. */
  #counting<T>(action: () => T): T {
    const streams = this.#riders.size;
    const before = this.#core.counts;
    const result = action();
    const [outages = 0, healed = 0, gaps = 0] = this.#core.counts.map((count, place) => count - (before[place] ?? 0));
    this.#past.outages += outages * streams;
    this.#past.healed += healed * streams;
    this.#past.gaps += gaps * streams;
    this.#outage.tell(this.#core.isAway, streams);
    return result;
  }

  #lose(holder: LineHolder, error: Error): void {
    const { code } = error as Partial<ListenError>;
    this.#miss(holder, error, (now) => {
      if (code === 'bus-full') this.#core.full();
      this.#core.lose(now, Math.random(), isBusy(code));
    });
    if (code === 'bus-outdated') for (const number of [...this.#riders.keys()]) this.#part(number, error);
  }

  /** Streams that wait for the bus wait for its shard. */
  #sendOn(holder: LineHolder, error: Error): void {
    this.#miss(holder, error, (now) => this.#core.sentOn(now, Math.random()));
  }

  #miss(holder: LineHolder, error: Error, action: (now: number) => void): void {
    holder.close();
    this.#counting(() => action(performance.now()));
    this.#tell(error);
    this.#serve(holder);
  }

  /** Something has changed: streams are told, and the holder's request does what is to be done about the bus. */
  #stir(): void {
    this.#tell();
    const holder = this.#holder;
    holder?.home.ask(() => this.#serve(holder));
  }

  /** Does what the core wants done, on behalf of the holder's request. */
  #serve(holder: LineHolder): void {
    if (this.#holder !== holder || !this.isCurrent) return;
    for (let call = this.#call(); call !== undefined; call = this.#call()) {
      const { kind, text } = call;
      call.free();
      if (kind === LineCallKind.Leave) holder.close();
      else if (kind === LineCallKind.Attach) holder.open(text);
      else holder.send(text);
    }
    this.#tell();
    if (this.#holder !== holder) return;
    if (this.#mustRetire) this.#retire(holder);
    else {
      if (holder.rider.isSpent) this.#shed();
      holder.arm(this.#core.deadline);
    }
  }

  #call() {
    return this.#core.call(performance.now());
  }

  #tell(why: Error = new ListenError('bus-lost', 'the bus cannot tell what was missed')): void {
    for (
      let told = this.#core.output();
      told !== undefined;
      told = this.#mustRetire ? undefined : this.#core.output()
    ) {
      const { isRefused, messages, since, streams } = told;
      if (messages === undefined) this.#part(streams[0] ?? 0, isRefused ? noRoom() : why, since);
      else this.#giveAll(told, streams, messages);
      told.free();
      this.#count(streams.length);
    }
    // What is left is given to the streams by the next request that has the socket.
    if (this.#mustRetire) return;
    if (this.#settling !== undefined && this.#core.isSettled) this.#settled(this.#settling);
  }

  #settled(settling: Deferred<void>): void {
    this.#settling = undefined;
    settling.resolve();
  }

  #giveAll(told: Told, streams: Uint32Array, messages: string[]): void {
    const events = streams.length > 1 ? told.shared() : undefined;
    const shared = events && new SharedFrames(events);
    for (const stream of streams) this.#give(stream, messages, shared);
    shared?.free();
  }

  /** One stream that cannot be written to must not keep others from hearing, nor one message those after it. */
  #give(stream: number, messages: string[], shared: SharedFrames | undefined): void {
    const link = this.#riders.get(stream)?.link;
    if (link === undefined) return;
    let isDone = false;
    if (shared !== undefined)
      this.#telling(() => {
        // What throws has taken the frames.
        isDone = true;
        isDone = link.share?.(shared) ?? false;
      });
    if (!isDone) for (const message of messages) this.#telling(() => link.receive(message));
  }

  #telling(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#options.onrefused(error as Error);
    }
  }

  #part(stream: number, why: Error, since?: string): void {
    const rider = this.#riders.get(stream);
    if (rider === undefined) return;
    rider.home.ask(() => rider.link.lost(why, since));
    this.#leave(stream);
  }

  /** In its turn, and on behalf of its own request, each stream sees to it that some request holds the socket. */
  #watch(rider: Rider): void {
    const turns = Math.min(this.#riders.size, MOST_TURNS);
    rider.later(WATCH_MS * turns * (0.5 + Math.random()), () => this.#examine(rider));
  }

  #examine(rider: Rider): void {
    const holder = this.#holder;
    if (holder?.rider === rider) {
      this.#watch(rider);
      return;
    }
    const proofs = holder?.proofs ?? 0;
    holder?.home.ask(() => {
      holder.proofs += 1;
    });
    rider.later(PROOF_MS, () => {
      if (this.#holder === holder && (holder?.proofs ?? 0) === proofs) this.#takeOver(rider, holder);
      this.#watch(rider);
    });
  }

  /** The request that held the socket, or was to, is gone without a word, or has so much to do that it cannot answer. */
  #takeOver(rider: Rider, former: LineHolder | undefined): void {
    if (!this.isCurrent) return;
    if (rider.isSpent && this.#riders.size > 1) {
      this.#shed();
      return;
    }
    former?.rider.release(former);
    this.#core.moved(performance.now());
    this.#appoint(rider);
  }
}

function noRoom(): ListenError {
  return new ListenError('bus-full', 'the bus has no room for what the stream names');
}

/** Milliseconds from one look at the holder to the next, of all streams together. */
const WATCH_MS = 1_000;
/** However many streams there are, each looks once in so many turns. */
const MOST_TURNS = 15;
/** Milliseconds that a request has to show that it lives. */
const PROOF_MS = 1_000;
