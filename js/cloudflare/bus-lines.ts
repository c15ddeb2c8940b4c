import type { BusAttachment, BusLink, BusTally } from '../bus/bus.js';
import type { BusDoors } from './bus-doors.js';
import { canWriteAcross } from './line-trial.js';
import { SharedLine } from './shared-line.js';

/** What the lines of an isolate need. */
export interface LinesOptions {
  doors: BusDoors;
  onerror: (error: Error) => void;
  /** Whether it is tried first that one request can write to the stream of another; otherwise that is taken for granted. */
  isTried: boolean;
}

/** The shared lines of one isolate to a bus: one for each continent, for the streams of one may be at a shard of their own. */
export class BusLines {
  readonly #options: LinesOptions;
  readonly #lines = new Map<string, SharedLine>();
  #verdict: boolean | undefined;
  #trial: Promise<boolean> | undefined;

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

  /**
   * Takes a stream in, or passes it to `alone`, which attaches it without a line: where lines do not work here, and while
   * that is not known.
   */
  attach(continent: string, filter: string, link: BusLink, alone: () => BusAttachment): BusAttachment {
    const line = this.#line(continent);
    if (!line.hasRoom) return alone();
    // The first stream holds the socket that it would have anyway.
    if (this.#verdict === true || (this.#verdict === undefined && line.holder === undefined)) {
      return line.attach(filter, link);
    }
    if (this.#verdict === undefined) this.#try(line);
    return alone();
  }

  #try(line: SharedLine): void {
    const { holder } = line;
    if (holder === undefined || this.#trial !== undefined) return;
    this.#trial = canWriteAcross(holder);
    void this.#trial.then((works) => {
      this.#trial = undefined;
      // A holder that left meanwhile has shown nothing.
      if (works || !holder.isGone) this.#verdict ??= works;
    });
  }

  #line(continent: string): SharedLine {
    const known = this.#lines.get(continent);
    if (known !== undefined) return known;
    const { doors, onerror } = this.#options;
    const onrefused = (error: Error): void => {
      this.#verdict = false;
      onerror(error);
    };
    const line = new SharedLine({ doors, continent, onerror, onrefused });
    this.#lines.set(continent, line);
    return line;
  }
}
