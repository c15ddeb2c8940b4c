import { BusCall } from '../wasm.js';
import type { BusAttachment, BusLink } from './bus.js';

/** What of the core says when to attach. */
export interface BusFollower {
  /** What an attach says that was heard before. */
  readonly since: string | undefined;
  /** What is to be done about the bus; undefined: nothing now. */
  call(now: number): BusCall | undefined;
}

/** One attachment of a line. */
export interface LineAttachment {
  /** As that of the bus. */
  readonly isCertain?: boolean | undefined;
  detach(): void;
  /** Attaches again in place, where that can be done. */
  again?: ((since: string | undefined) => void) | undefined;
}

/** What a line does for its follower. */
export interface LineEnds {
  /** Attaches anew. */
  attach(link: BusLink, since: string | undefined): LineAttachment;
  /** Takes one frame, as {@link BusLink.receive}. */
  receive(frame: string): void;
  /** There is no attachment any more, see {@link BusLink.lost}. */
  lost(error: Error): void;
}

/** An attachment of a bus as a line has it, which `again` attaches again where that can be done in place. */
export function lineOf(attachment: BusAttachment, again: (since: string | undefined) => void): LineAttachment {
  return {
    get isCertain() {
      return attachment.isCertain;
    },
    detach: () => attachment.detach(),
    again: attachment.again && again,
  };
}

/** One stream's line to the bus, over one attachment after another. What a former one still says is not heard. */
export class BusLine {
  readonly #ends: LineEnds;
  #link: BusLink | undefined;
  #attachment: LineAttachment | undefined;

  constructor(ends: LineEnds) {
    this.#ends = ends;
  }

  /** Whether everything comes, where the bus's end of the attachment knows that. */
  get isCertain(): boolean | undefined {
    return this.#attachment?.isCertain;
  }

  /** Attaches anew, in place of the attachment that there is. */
  attach(since: string | undefined): void {
    this.leave();
    const link: BusLink = {
      receive: (frame) => {
        if (this.#link === link) this.#ends.receive(frame);
      },
      lost: (error) => {
        if (this.#link === link) this.#lose(error);
      },
    };
    this.#link = link;
    try {
      const attachment = this.#ends.attach(link, since);
      // The bus may have been lost, or the line left, before it answered.
      if (this.#link === link) this.#attachment = attachment;
      else attachment.detach();
    } catch (error) {
      link.lost(error as Error);
    }
  }

  /** Does what the core asks for. */
  tend(follower: BusFollower): void {
    for (let call = follower.call(performance.now()); call !== undefined; call = follower.call(performance.now())) {
      const again = call === BusCall.Ask ? this.#attachment?.again : undefined;
      if (call === BusCall.Leave) {
        this.leave();
        continue;
      }
      if (again === undefined) this.attach(follower.since);
      else again(follower.since);
      // What was told at once may have ended the follower.
      if (this.#link === undefined) return;
    }
  }

  /** Gives up the attachment that there is. */
  leave(): void {
    const attachment = this.#attachment;
    this.#link = undefined;
    this.#attachment = undefined;
    attachment?.detach();
  }

  #lose(error: Error): void {
    this.leave();
    this.#ends.lost(error);
  }
}
