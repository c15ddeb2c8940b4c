import type { BusAttachment, BusLink, BusTally } from '../bus/bus.js';
import type { Log } from '../log.js';
import type { BusDoors } from './bus-doors.js';
import { canWriteAcross } from './line-trial.js';
import type { Rider } from './rider.js';
import { SharedLine } from './shared-line.js';

/** What the lines of an isolate need. */
export interface LinesOptions {
  doors: BusDoors;
  onerror: (error: Error) => void;
  onlog: Log;
  /** Whether it is tried first that one request can write to the stream of another; otherwise that is taken for granted. */
  isTried: boolean;
}

/** A stream that attaches. */
export interface LineJoining {
  /** Milliseconds within which the bus has to confirm; for all streams of a line those of its first. */
  attachMs: number;
  /** Where its client is; empty where that is not known. */
  continent: string;
  /** What it wants, as JSON text. */
  filter: string;
  link: BusLink;
  /** What it has received already, in words of the core; undefined: nothing. */
  since: string | undefined;
}

/** The shared lines of one isolate to a bus: one for each continent, for the streams of one may be at a shard of their own. */
export class BusLines {
  readonly #options: LinesOptions;
  readonly #lines = new Map<string, SharedLine>();
  #verdict: boolean | undefined;
  #trial: Promise<boolean> | undefined;
  #trials = 0;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#verdict = options.isTried ? undefined : true;
  }

  /** How the streams of all lines fared. */
  get tally(): BusTally {
    const sum = { away: 0, outages: 0, healed: 0, gaps: 0 };
    for (const { tally } of this.#lines.values()) {
      sum.outages += tally.outages;
      sum.away += tally.away;
      sum.healed += tally.healed;
      sum.gaps += tally.gaps;
    }
    return sum;
  }

  /** As of {@link SharedLine.settle}, for the streams of all lines. */
  async settle(): Promise<void> {
    await Promise.all([...this.#lines.values()].map((line) => line.settle()));
  }

  /**
   * Takes a stream in, or passes it to `alone`, which attaches it without a line: where lines do not work here, and where
   * it goes on from a place in the log of the bus, which no line knows.
   */
  attach({ attachMs, continent, filter, link, since }: LineJoining, alone: () => BusAttachment): BusAttachment {
    const line = this.#line(continent, attachMs);
    if (this.#verdict === false || !line.continues(since) || !line.hasRoomFor(filter)) return alone();
    const { holder } = line;
    // The first stream holds the socket that it would have anyway.
    if (this.#verdict === true || holder === undefined) return line.attach(filter, link);
    const attach = (works: boolean): BusAttachment =>
      works ? this.#line(continent, attachMs).attach(filter, link) : alone();
    return decided(this.#try(holder.rider), attach, link);
  }

  /** What the trial says that runs, or begins now; false where it says nothing in time. */
  async #try(holder: Rider): Promise<boolean> {
    this.#trial ??= this.#judge(holder);
    let late: ReturnType<typeof setTimeout> | null = null;
    const tooLate = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), PATIENCE_MS);
    });
    const works = await Promise.race([this.#trial, tooLate]);
    clearTimeout(late);
    return works;
  }

  /** A holder that left meanwhile has shown nothing, and neither has a trial that took too long: it is tried again, some times. */
  async #judge(holder: Rider): Promise<boolean> {
    this.#trials += 1;
    const works = await canWriteAcross(holder);
    this.#trial = undefined;
    if (works || (!holder.isGone && this.#trials >= MOST_TRIALS)) this.#verdict ??= works;
    return works;
  }

  #line(continent: string, attachMs: number): SharedLine {
    const known = this.#lines.get(continent);
    if (known?.isCurrent === true) return known;
    const { doors, onerror, onlog } = this.#options;
    const onrefused = (error: Error): void => {
      this.#verdict = false;
      onerror(error);
    };
    const line = new SharedLine({ doors, attachMs, continent, onerror, onlog, onrefused });
    this.#lines.set(continent, line);
    return line;
  }
}

/** An attachment that is made once something is known, on behalf of the request that waits for it. */
function decided(verdict: Promise<boolean>, attach: (works: boolean) => BusAttachment, link: BusLink): BusAttachment {
  let made: BusAttachment | undefined;
  let isLeft = false;
  const make = (works: boolean): void => {
    if (!isLeft) made = attach(works);
  };
  verdict.then(make).catch((error: Error) => link.lost(error));
  return {
    get home() {
      return made?.home;
    },
    get isCertain() {
      return made?.isCertain;
    },
    detach: () => {
      isLeft = true;
      made?.detach();
    },
    again: (filter, joining) => made?.again?.(filter, joining),
  };
}

/** Milliseconds that a stream waits for the trial; then it goes alone. */
const PATIENCE_MS = 1_500;
const MOST_TRIALS = 3;
