import { atMost } from './at-most.js';
import type { BusLink } from './bus/bus.js';
import { BusLine, type LineAttachment, lineOf } from './bus/bus-line.js';
import { retiringOf } from './bus-ends.js';
import { DeadlineTimer } from './deadline-timer.js';
import { deferred } from './deferred.js';
import { isBusy, ListenError } from './error.js';
import type { SubscriptionFilter } from './filter.js';
import type { Grant, Granted } from './grant.js';
import { CALM, type HeldStream, type Retiring, type StreamEnding, type StreamTally } from './held-stream.js';
import { StreamBody } from './stream-body.js';
import { joiningOf, type StreamOptions } from './stream-options.js';
import { SETTLE_MS } from './streams.js';
import { expiry } from './times.js';
import { surviving, whenTrapped } from './trap.js';
import { type Edge, Retirement } from './wasm.js';

/**
 * The stream of a session: moves frames of the bus into the core, and bytes of the core into the
 * response, never more than the reader has room for. What waits meanwhile waits collapsed in the core.
 */
export class ListenStream implements HeldStream {
  /** Resolves when the stream has ended, whatever ended it. */
  readonly ended: Promise<StreamEnding>;
  readonly #edge: Edge;
  readonly #options: StreamOptions;
  readonly #attached = deferred();
  readonly #closing = deferred<{ settled: Promise<boolean> | undefined }>();
  readonly #retiring = deferred<Retiring>();
  readonly #told = deferred<Retirement>();
  readonly #lapsed = deferred();
  readonly #ended = deferred<StreamEnding>();
  readonly #line: BusLine;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  readonly #body = new StreamBody({
    begun: () => this.#pump(),
    roomy: () => {
      if (this.#isBehind) surviving(() => this.#pump());
    },
    left: () => this.#end('left'),
  });
  #tally: StreamTally | undefined;
  #isConfirmed = false;
  #isAway = false;
  #isPumping = false;
  /** Whether something may wait in the core; the acknowledgment does from the beginning. */
  #isBehind = true;
  #isEnded = false;
  /** The core has trapped, and knows of this stream no more: it ends soon. */
  #isLapsed = false;
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
    edge.countIn(options.tally(), Date.now() - performance.now());
    // It was asked before the stream was attached.
    edge.grantFor(options.grant?.ms ?? 0, performance.now());
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
    void stream.#closing.promise.then(({ settled }) => stream.#close(settled));
    void stream.#retiring.promise.then((retiring) => surviving(() => stream.#retire(retiring)));
    void stream.#told.promise.then((why) => surviving(() => stream.#retireTold(why)));
    void stream.#lapsed.promise.then(() => stream.#endSoon());
    try {
      await stream.#attach();
    } catch (error) {
      stream.#end('aborted');
      throw error;
    }
    stream.#live();
    return stream;
  }

  /** The answer to the listen request: its body is the stream. */
  response(): Response {
    return this.#body.response();
  }

  close(settled?: Promise<boolean>): void {
    this.#closing.resolve({ settled });
  }

  /** What follows `settled` itself runs on behalf of the request that made it. */
  retire(at: number, why: Retirement, settled?: Promise<void>): void {
    this.#retiring.resolve({ at: settled === undefined ? at : at + SETTLE_MS, why });
    void settled?.then(() => this.#told.resolve(why));
  }

  abort(): void {
    if (this.#isEnded) return;
    surviving(() => this.#edge.abort());
    this.#finish();
  }

  get tally(): StreamTally {
    return this.#tally ?? tallyOf(this.#edge);
  }

  get #isIdle(): boolean {
    return this.#isEnded || this.#isLapsed;
  }

  async #attach(): Promise<void> {
    if (this.#options.signal.aborted) throw new ListenError('bus-lost', 'the client is gone');
    const { attachMs } = this.#options;
    this.#line.attach(this.#edge.since);
    const late = (): ListenError => new ListenError('attach-timeout', 'the bus did not confirm in time');
    await atMost(attachMs, this.#attached.promise, late);
  }

  #join(link: BusLink, since: string | undefined): LineAttachment {
    const attachment = this.#options.bus.attach(this.#filter(), link, joiningOf(this.#options, since));
    return lineOf(attachment, (after) => attachment.again?.(this.#filter(), joiningOf(this.#options, after)));
  }

  #filter(): SubscriptionFilter {
    return JSON.parse(this.#edge.honored) as SubscriptionFilter;
  }

  readonly #receive = (frame: string): void => {
    if (!this.#isIdle) surviving(() => this.#take(frame));
  };

  #take(frame: string): void {
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
  }

  /** A stream that is open outlives its bus, unless the bus let it go. */
  readonly #lost = (error: Error): void => {
    this.#attached.reject(error);
    if (this.#isIdle) return;
    const { code } = error as Partial<ListenError>;
    if (!this.#isConfirmed || code === 'bus-released') {
      this.abort();
      return;
    }
    surviving(() => {
      const now = performance.now();
      this.#edge.lose(now, Math.random(), isBusy(code));
      const retiring = retiringOf(code, now);
      if (retiring !== undefined) this.#retire(retiring);
      this.#look();
      this.#pump();
    });
  };

  /** Where the bus is, the core knows. */
  #look(): void {
    const { isAway } = this.#edge;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#options.onaway(this, isAway);
  }

  #live(): void {
    const { expiresAt, maxConnectionAgeMs: age, stallMs } = this.#options;
    this.#edge.stallAfter(stallMs);
    if (expiresAt !== undefined) this.#edge.expireAt(expiry(expiresAt));
    if (age > 0) this.#edge.retireAt(performance.now() + age, Retirement.Rotated);
  }

  #retire({ at, why }: Retiring): void {
    if (this.#isIdle) return;
    this.#edge.retireAt(at, why);
    this.#timer.arm(this.#edge.deadline);
  }

  /** What speaks for many streams was asked; a stream with a connection of its own asks for itself. */
  #retireTold(why: Retirement): void {
    const now = performance.now();
    if (this.#isIdle || this.#line.isCertain !== undefined) this.#retire({ at: now, why });
    else this.#edge.endBy(now + SETTLE_MS, now, why);
    if (!this.#isIdle) this.#proceed();
  }

  /** Where the bus's end of the attachment speaks for many streams, it is asked once for all of them. As they leave, it may lose its bus. */
  async #close(settled: Promise<boolean> | undefined): Promise<void> {
    const isSettled = this.#line.isCertain !== undefined && (await settled) === true;
    surviving(() => this.#drain(isSettled));
  }

  #drain(isSettled: boolean): void {
    // It may have gone on alone meanwhile, and then asks for itself.
    const isShared = this.#line.isCertain !== undefined;
    if (this.#isLapsed) this.#end('trapped');
    if (this.#isIdle) return;
    const now = performance.now();
    this.#attached.reject(new ListenError('bus-lost', 'closed before the bus confirmed'));
    if (!isSettled && this.#line.isCertain === false) this.#edge.doubt(now);
    if (isShared) this.#edge.close();
    else this.#edge.endBy(now + SETTLE_MS, now);
    this.#line.tend(this.#edge);
    this.#pump();
  }

  /** Enqueueing may ask for more at once, so the loop must not start within itself. */
  #pump(): void {
    this.#isBehind = true;
    if (this.#isIdle || this.#isPumping || !this.#body.isBegun) return;
    this.#isPumping = true;
    try {
      this.#write();
    } finally {
      this.#isPumping = false;
    }
    this.#settle();
  }

  #settle(): void {
    if (this.#isIdle) return;
    if (this.#edge.isEnded) this.#finish();
    else {
      this.#timer.arm(this.#edge.deadline);
      this.#ask();
    }
  }

  /** What waits for somebody to say that the caller may still hear it goes on when that is said. */
  #ask(): void {
    const { grant } = this.#options;
    const question = grant && this.#edge.question();
    if (question !== undefined) void grant?.ask(question).then((granted) => this.#renew(grant, granted));
  }

  #renew(grant: Grant, granted: Granted | undefined): void {
    if (this.#isIdle) return;
    let wrong: string | undefined;
    surviving(() => {
      wrong = this.#edge.renew(granted?.filter, performance.now());
      if (granted !== undefined)
        this.#edge.expireAt(granted.expiresAt === undefined ? undefined : expiry(granted.expiresAt));
      // Further audiences are asked of the bus.
      this.#line.tend(this.#edge);
      this.#pump();
    });
    grant.refuse(wrong);
  }

  /** What is left of a stream that was closed waits in its body, whether somebody reads or not. */
  #write(): void {
    while (this.#body.hasRoom || (this.#edge.isFrozen && !this.#body.hasKept)) {
      const frames = this.#edge.poll(performance.now());
      if (frames === undefined) {
        this.#isBehind = false;
        return;
      }
      this.#enqueue(frames);
    }
    this.#edge.blocked(performance.now());
    this.#body.await();
  }

  #enqueue(frames: Uint8Array): void {
    try {
      this.#body.write(frames);
    } catch (error) {
      this.#isPumping = false;
      this.abort();
      throw error;
    }
  }

  #tick(): void {
    if (this.#isLapsed) this.#end('trapped');
    if (this.#isIdle) return;
    this.#edge.timeout(performance.now(), Math.random());
    this.#proceed();
  }

  #proceed(): void {
    this.#line.tend(this.#edge);
    if (!this.#isEnded) this.#look();
    this.#pump();
  }

  readonly #leave = (): void => this.#end('left');

  /** Ends as the core says. */
  #finish(): void {
    let ending: StreamEnding = 'aborted';
    surviving(() => {
      ending = (this.#edge.ending as StreamEnding | undefined) ?? ending;
    });
    this.#end(ending);
  }

  /** Every way in which a stream ends comes through here. */
  #end(ending: StreamEnding): void {
    if (this.#isEnded) return;
    this.#tally = { ...this.tally, isAway: false };
    this.#isEnded = true;
    this.#edge.free();
    this.#dispose(ending);
  }

  /** What belongs to the stream's own request waits for that. */
  #lapse(error: Error): void {
    this.#options.onerror(error);
    this.#isLapsed = true;
    this.#lapsed.resolve();
  }

  /** A stream that is open ends at a moment of its own, so that not all clients come back at once. */
  #endSoon(): void {
    if (this.#isEnded) return;
    if (!this.#isConfirmed) this.#end('trapped');
    else {
      this.#timer.clear();
      this.#timer.arm(performance.now() + Math.random() * this.#options.trapMs());
    }
  }

  #dispose(ending: StreamEnding): void {
    this.#leaveCore();
    this.#timer.clear();
    this.#options.signal.removeEventListener('abort', this.#leave);
    this.#attached.reject(new ListenError('bus-lost', 'the stream ended before the bus confirmed'));
    surviving(() => this.#line.leave());
    this.#body.close();
    this.#ended.resolve(ending);
  }
}

/** How a stream fares; after a trap nobody knows any more. */
function tallyOf(edge: Edge): StreamTally {
  let tally = CALM;
  surviving(() => {
    const [outages = 0, healed = 0, gaps = 0, resyncs = 0] = edge.counts;
    tally = { isAway: edge.isAway, outages, healed, gaps, resyncs };
  });
  return tally;
}
