import type { BusHome, BusLink, Joining, ListenBus } from './bus/bus.js';
import { BusLine, type LineAttachment } from './bus/bus-line.js';
import { DeadlineTimer } from './deadline-timer.js';
import { deferred } from './deferred.js';
import { ListenError } from './error.js';
import type { SubscriptionFilter } from './filter.js';
import type { Grant } from './grant.js';
import { CALM, type HeldStream, NO_QUEUE, SSE_HEADERS, type StreamEnding, type StreamTally } from './held-stream.js';
import type { SessionStream } from './legacy/session-store.js';
import type { SharedFrame } from './shared-frame.js';
import { expiry } from './times.js';
import { whenTrapped } from './trap.js';
import { type Edge, Retirement, type Tally } from './wasm.js';

/** How a stream is wired up. */
export interface StreamOptions {
  bus: ListenBus;
  /** Counts what the streams of a server go through. */
  tally: Tally;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  /** How long the bus may take to confirm, in milliseconds. */
  attachMs: number;
  /** How long a reader may take nothing while something waits for it, in milliseconds; 0: for ever. */
  stallMs: number;
  /** How old the stream may grow, in milliseconds; 0: any age. */
  maxAgeMs: number;
  /** How long the bus may be silent before it is asked, in milliseconds; 0: for ever. */
  verifyMs: number;
  /** When what names the caller expires, in milliseconds since 1970; undefined: never. */
  expiresAt?: number | undefined;
  /** How to ask again what the caller may hear; undefined: nobody has to be asked. */
  grant?: Grant | undefined;
  onerror: (error: Error) => void;
  /** Told when the bus of a stream is away, and when it is back. */
  onaway: (stream: HeldStream, isAway: boolean) => void;
  /** The session whose stream it is; none for a listen stream. */
  session?: SessionStream;
  /** On which continent the client is, where the host tells. */
  continent?: string | undefined;
}

/**
 * One open subscription: moves frames of the bus into the core, and bytes of the core into the
 * response, never more than the reader has room for. What waits meanwhile waits collapsed in the core.
 */
export class ListenStream implements HeldStream {
  /** Resolves when the stream has ended, whatever ended it. */
  readonly ended: Promise<StreamEnding>;
  readonly #edge: Edge;
  readonly #options: StreamOptions;
  readonly #attached = deferred();
  readonly #closing = deferred<boolean>();
  readonly #retiring = deferred<Retiring>();
  readonly #lapsed = deferred();
  readonly #ended = deferred<StreamEnding>();
  readonly #line: BusLine;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #tally: StreamTally | undefined;
  #isConfirmed = false;
  #isAway = false;
  #isPumping = false;
  /** Whether something may wait in the core; the acknowledgment does from the beginning. */
  #isBehind = true;
  /** Whether somebody reads: there is room for one write. */
  #hasRoom = false;
  #isEnded = false;
  #leaveCore = (): void => {};

  private constructor(edge: Edge, options: StreamOptions) {
    this.#edge = edge;
    this.#options = options;
    this.ended = this.#ended.promise;
    this.#line = new BusLine({
      attach: (link, since) => this.#join(link, since),
      receive: this.#receive,
      lost: this.#lost,
    });
    edge.setPatience(options.attachMs, options.verifyMs);
    // It was asked before the stream was attached.
    edge.grantFor(options.grant?.ms ?? 0, performance.now());
    edge.countIn(options.tally, Date.now() - performance.now());
    // `open` tells its caller; where it has already returned there is nobody left to tell.
    this.#attached.promise.catch(() => {});
  }

  /**
   * Registers the stream with its bus; takes over `edge` and frees it in the end.
   *
   * @throws ListenError `attach-timeout`, `bus-lost` or `bus-unavailable`; nothing is then registered any more.
   */
  static async open(edge: Edge, options: StreamOptions): Promise<ListenStream> {
    const stream = new ListenStream(edge, options);
    stream.#leaveCore = whenTrapped((error) => stream.#lapse(error));
    options.signal.addEventListener('abort', stream.#leave);
    // A stream may be closed from another request. What it then does must run on behalf of
    // its own, as continuations do: workerd lets a request touch only its own sockets and timers.
    void stream.#closing.promise.then((isDoubtful) => stream.#drain(isDoubtful));
    void stream.#lapsed.promise.then(() => stream.#dispose('aborted'));
    void stream.#retiring.promise.then((retiring) => stream.#retire(retiring));
    try {
      await stream.#attach();
    } catch (error) {
      stream.#end('aborted');
      throw error;
    }
    stream.#limit();
    return stream;
  }

  /** The answer to the listen request: its body is the stream. */
  response(): Response {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          this.#pump();
        },
        pull: () => {
          this.#hasRoom = true;
          if (this.#isBehind) this.#pump();
        },
        cancel: this.#leave,
      },
      NO_QUEUE,
    );
    return new Response(body, { headers: SSE_HEADERS });
  }

  close(): void {
    this.#closing.resolve(this.#line.isDoubtful);
  }

  retire(at: number, why: Retirement): void {
    this.#retiring.resolve({ at, why });
  }

  abort(): void {
    if (this.#isEnded) return;
    this.#edge.abort();
    this.#finish();
  }

  get tally(): StreamTally {
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0] = this.#tally === undefined ? this.#edge.counts : [];
    return this.#tally ?? { isAway: this.#edge.isAway, outages, healed, gaps, resyncs };
  }

  async #attach(): Promise<void> {
    if (this.#options.signal.aborted) throw new ListenError('bus-lost', 'the client is gone');
    const { attachMs, session } = this.#options;
    if (this.#edge.honorsNothing && session === undefined) {
      this.#edge.finishWithoutBus(performance.now());
      return;
    }
    const late = setTimeout(() => {
      this.#attached.reject(new ListenError('attach-timeout', 'the bus did not confirm in time'));
    }, attachMs);
    try {
      this.#line.attach(this.#edge.since);
      await this.#attached.promise;
    } finally {
      clearTimeout(late);
    }
  }

  #join(link: BusLink, since: string | undefined): LineAttachment {
    const attachment = this.#options.bus.attach(this.#filter(), link, this.#joining(since));
    const again = attachment.again?.bind(attachment);
    return {
      get home() {
        return attachment.home;
      },
      get isCertain() {
        return attachment.isCertain ?? true;
      },
      detach: () => attachment.detach(),
      again: again && ((after) => again(this.#filter(), this.#joining(after))),
    };
  }

  #filter(): SubscriptionFilter {
    return JSON.parse(this.#edge.honored) as SubscriptionFilter;
  }

  #joining(since: string | undefined): Joining {
    const { continent, session } = this.#options;
    return {
      ...(session && { session: session.id }),
      ...(since !== undefined && { since }),
      ...(continent !== undefined && { continent }),
    };
  }

  readonly #receive = (frame: string, shared?: SharedFrame): void => {
    if (this.#isEnded) return;
    if (shared !== undefined && this.#share(shared)) return;
    const dropped = this.#edge.receive(frame, performance.now());
    if (dropped !== undefined) {
      this.#options.onerror(new ListenError('bus-frame-dropped', `a bus frame was dropped: ${dropped}`));
    }
    if (!this.#isConfirmed && !this.#edge.isOpening) {
      this.#isConfirmed = true;
      this.#attached.resolve();
    }
    if (this.#isAway) this.#look();
    this.#pump();
  };

  /** A stream that is open outlives its bus, unless the bus let it go. */
  readonly #lost = (error: Error): void => {
    this.#attached.reject(error);
    if (this.#isEnded) return;
    const { code } = error as Partial<ListenError>;
    if (!this.#isConfirmed || code === 'bus-released') {
      this.abort();
      return;
    }
    this.#edge.lose(performance.now(), Math.random(), code === 'bus-overloaded');
    this.#look();
    this.#pump();
  };

  /** Where the bus is, the core knows. */
  #look(): void {
    const { isAway } = this.#edge;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#options.onaway(this, isAway);
  }

  #limit(): void {
    const { expiresAt, maxAgeMs, stallMs } = this.#options;
    this.#edge.stallAfter(stallMs);
    if (expiresAt !== undefined) this.#edge.expireAt(expiry(expiresAt));
    if (maxAgeMs > 0) this.#edge.retireAt(performance.now() + maxAgeMs, Retirement.Rotated);
  }

  #retire({ at, why }: Retiring): void {
    if (this.#isEnded) return;
    this.#edge.retireAt(at, why);
    this.#timer.arm(this.#edge.deadline);
  }

  #drain(isDoubtful: boolean): void {
    if (this.#isEnded) return;
    this.#attached.reject(new ListenError('bus-lost', 'closed before the bus confirmed'));
    if (isDoubtful) this.#edge.doubt(performance.now());
    this.#edge.close();
    this.#pump();
  }

  /** Takes what many streams get, where it is just the next event; the answer is whether that is done. */
  #share(shared: SharedFrame): boolean {
    const controller = this.#controller;
    if (this.#isEnded || this.#isPumping || controller === undefined) return false;
    const given = shared.give(this.#edge, this.#hasRoom);
    if (given === 'unchanged') return false;
    if (given !== 'waiting') this.#writeAtOnce(controller, given);
    else if (!this.#isBehind) this.#pump();
    return true;
  }

  #writeAtOnce(controller: ReadableStreamDefaultController<Uint8Array>, chunk: Uint8Array): void {
    this.#isPumping = true;
    this.#enqueue(controller, chunk);
    this.#isPumping = false;
  }

  /** Enqueueing may ask for more at once, so the loop must not start within itself. */
  #pump(): void {
    this.#isBehind = true;
    if (this.#isEnded || this.#isPumping || this.#controller === undefined) return;
    this.#isPumping = true;
    this.#write(this.#controller);
    this.#isPumping = false;
    const { home } = this.#line;
    if (home === undefined) this.#settle();
    else this.#settleAt(home);
  }

  #settle(): void {
    if (this.#isEnded) return;
    if (this.#edge.isEnded) this.#finish();
    else {
      this.#timer.arm(this.#edge.deadline);
      this.#ask();
    }
  }

  /** Another request may have written: what it must not touch waits for the stream's own. */
  #settleAt(home: BusHome): void {
    const { deadline, isAsking, isEnded } = this.#edge;
    if (isEnded || isAsking || !this.#timer.covers(deadline)) home.ask(() => this.#settle());
  }

  /** What waits for somebody to say that the caller may still hear it goes on when that is said. */
  #ask(): void {
    const { grant } = this.#options;
    const question = grant && this.#edge.question();
    if (question !== undefined) void grant?.ask(question).then((authorized) => this.#renew(grant, authorized));
  }

  #renew(grant: Grant, authorized: string | undefined): void {
    if (this.#isEnded) return;
    const wrong = this.#edge.renew(authorized, performance.now());
    this.#pump();
    grant.refuse(wrong);
  }

  #write(controller: ReadableStreamDefaultController<Uint8Array>): void {
    while (this.#hasRoom) {
      const frames = this.#edge.poll(performance.now());
      if (frames === undefined) {
        this.#isBehind = false;
        return;
      }
      this.#enqueue(controller, frames);
    }
    this.#edge.blocked(performance.now());
  }

  /** What was taken from the core and cannot be written is lost: the stream ends, and its client comes back. */
  #enqueue(controller: ReadableStreamDefaultController<Uint8Array>, frames: Uint8Array): void {
    this.#hasRoom = false;
    try {
      controller.enqueue(frames);
    } catch (error) {
      this.#edge.abort();
      this.#isPumping = false;
      const { home } = this.#line;
      if (home === undefined) this.#settle();
      else home.ask(() => this.#settle());
      throw error;
    }
  }

  #tick(): void {
    if (this.#isEnded) return;
    this.#edge.timeout(performance.now(), Math.random());
    this.#line.tend(this.#edge);
    if (!this.#isEnded) this.#look();
    this.#pump();
  }

  readonly #leave = (): void => this.#end('left');

  /** Ends as the core says. */
  #finish(): void {
    this.#end((this.#edge.ending as StreamEnding | undefined) ?? 'aborted');
  }

  /** Every way in which a stream ends comes through here. */
  #end(ending: StreamEnding): void {
    if (this.#isEnded) return;
    this.#tally = { ...this.tally, isAway: false };
    this.#isEnded = true;
    this.#edge.free();
    this.#dispose(ending);
  }

  /** The core knows of no stream any more. What belongs to the stream's own request waits for that. */
  #lapse(error: Error): void {
    this.#isEnded = true;
    this.#tally = CALM;
    this.#options.onerror(error);
    this.#lapsed.resolve();
  }

  #dispose(ending: StreamEnding): void {
    this.#leaveCore();
    this.#timer.clear();
    this.#options.signal.removeEventListener('abort', this.#leave);
    this.#attached.reject(new ListenError('bus-lost', 'the stream ended before the bus confirmed'));
    this.#line.leave();
    this.#closeBody();
    this.#ended.resolve(ending);
  }

  #closeBody(): void {
    try {
      this.#controller?.close();
    } catch {
      // The reader has cancelled: there is no body left to close.
    }
  }
}

interface Retiring {
  at: number;
  why: Retirement;
}
