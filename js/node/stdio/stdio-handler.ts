import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { Authorize } from '../../auth/authorize.js';
import type { AttachableBus } from '../../bus/attachable-bus.js';
import type { ListenBus, ServerEventBus } from '../../bus/bus.js';
import { toAttachableBus } from '../../bus/event-bus-adapter.js';
import { InMemoryBus } from '../../bus/memory/memory-bus.js';
import { type Notifier, notifierOn } from '../../bus/notifier.js';
import { declared, type ListenCapabilities } from '../../handler/discovery.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { type ListenLimits, limitsOf } from '../../model/limits.js';
import { guarded, report } from '../../observe/on-error.js';
import { ignoringTrap, onReset } from '../../wasm/server/guard.js';
import { WholeLines } from './lines.js';
import { Discovery } from './stdio-discovery.js';
import { Subscriptions } from './subscriptions.js';

/**
 * Starts a stdio server that reads `stdin` and writes `stdout` instead of the process's own: connects an SDK's
 * transport to them, or pipes them to a child process. A promise that it returns may reject.
 */
export type StdioServer = (stdin: Readable, stdout: Writable) => unknown;

/** How `serveListenStdio` serves. */
export interface StdioListenOptions {
  /** Carries events between publishers and streams (default: a new `InMemoryBus`). */
  bus?: ListenBus | ServerEventBus;
  /** What the server notifies about (default: asked of it with `server/discover`, for as long as its answer holds). */
  capabilities?: ListenCapabilities;
  /** Named in the result that ends a stream; goes with `capabilities` (otherwise `server/discover` tells it). */
  serverInfo?: { name: string; version: string };
  /** Says what the client may hear (default: everything). */
  authorize?: Authorize<StdioAuthorizeContext>;
  /** Upper bounds. */
  limits?: StdioListenLimits;
  /** Told of every error behind a refusal, a lost subscription or a failed publish (default: `console.error`). */
  onerror?: (error: Error) => void;
  /** Where the client's bytes come from (default: `process.stdin`). */
  stdin?: Readable;
  /** Where lines for the client go (default: `process.stdout`). */
  stdout?: Writable;
}

/** What a client on stdio asks for. Whoever started the process is its client, so there is no more to say of it. */
export interface StdioAuthorizeContext {
  /** What the listen request asks for. */
  requested: SubscriptionFilter;
}

/** Upper bounds; each is the largest value still accepted. */
export interface StdioListenLimits extends ListenLimits {
  /** Bytes of any line of the client; a longer one is refused and passed over (default 10,485,760). */
  lineBytes?: number;
}

/** A stdio connection that serves `subscriptions/listen`. */
export interface StdioListenServer {
  /** Publishes changes. */
  notify: Notifier;
  /**
   * Ends all subscriptions gracefully, then the input of the server behind, so that the process can exit. Resolves when the pending
   * cues and the results have been handed to `stdout`, within about a second and whether the client reads or not.
   */
  close: () => Promise<void>;
  /**
   * Waits until `stdout` has taken everything that was written, for `ms` milliseconds at most. Resolves with whether it has. A process
   * that exits by itself after `close` calls this first.
   */
  flushed: (ms: number) => Promise<boolean>;
  /** The bus in use. */
  bus: ListenBus;
}

/**
 * Serves `subscriptions/listen` (2026-07-28) on the process's stdin and stdout, in front of a stdio server. Listens
 * and what cancels them are answered here; every other line passes through, in both directions, byte for byte.
 *
 * A client of an earlier revision, which begins with `initialize`, is notified as that has it: of the lists, and of
 * the resources that it subscribes to. Of what passes through, the answer to `initialize` is made to name `capabilities`
 * where these are given, and that to `resources/subscribe` is ours where the server behind has no such method.
 *
 * @throws ListenError `invalid-options`, and whatever `serve` throws.
 */
export function serveListenStdio(serve: StdioServer, options: StdioListenOptions = {}): StdioListenServer {
  const { onerror = report, bus = new InMemoryBus(onerror) } = options;
  const front = new StdioFront(serve, { ...options, bus: toAttachableBus(bus, onerror), onerror: guarded(onerror) });
  const { close, flushed } = front;
  return { notify: notifierOn(front.bus), close, flushed, bus: front.bus };
}

type FrontOptions = StdioListenOptions & { bus: AttachableBus; onerror: (error: Error) => void };

/** Stands between the client's streams and the server's, and lets lines of both writers take turns on stdout. */
class StdioFront {
  readonly bus: AttachableBus;
  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #toServer = new PassThrough();
  readonly #fromServer = new PassThrough();
  readonly #serverLines = new WholeLines();
  readonly #discovery: Discovery;
  readonly #subscriptions: Subscriptions;
  readonly #onerror: (error: Error) => void;
  readonly #sources: Array<() => Uint8Array | undefined>;
  #isFull = false;
  #isBroken = false;
  #isFlushing = false;
  /** Whether the core has begun anew since, and every line passes as it is. */
  #hasLapsed = false;
  #forgetTraps = (): void => {};

  constructor(serve: StdioServer, options: FrontOptions) {
    const { bus, capabilities, onerror, serverInfo, stdin = process.stdin, stdout = process.stdout } = options;
    const limits = limitsOf({ lineBytes: LINE_BYTES, ...options.limits });
    this.#discovery = new Discovery(this.#toServer, capabilities && declared(capabilities, serverInfo));
    this.bus = bus;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#onerror = onerror;
    this.#subscriptions = new Subscriptions({
      ...{ authorize: options.authorize, bus, capabilities, limits, onerror },
      discover: () => this.#discovery.ask(limits.attachMs),
      onnews: () => this.#flush(),
    });
    this.#sources = [() => this.#subscriptions.poll(), () => this.#takeServerLines()];
    this.#forgetTraps = onReset(this.#trapped);
    this.#start(serve);
  }

  readonly close = async (): Promise<void> => {
    await this.#subscriptions.close();
    this.#freeze();
    this.#endInput();
  };

  readonly flushed = (ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      const late = setTimeout(resolve, ms, false);
      this.#stdout.write('', (error) => {
        clearTimeout(late);
        resolve(!error && !this.#isBroken);
      });
    });

  #start(serve: StdioServer): void {
    const served = serve(this.#toServer, this.#fromServer);
    Promise.resolve(served).catch(this.#fail);
    this.#stdin.on('data', this.#receive).on('error', this.#fail);
    for (const end of ['end', 'close']) this.#stdin.once(end, this.#endInput);
    this.#stdout.on('drain', this.#drained).on('error', this.#break).once('close', this.#break);
    this.#toServer.on('drain', this.#regulate).on('error', this.#fail);
    this.#fromServer.on('readable', () => this.#flush()).on('error', this.#fail);
  }

  readonly #receive = (chunk: Buffer): void =>
    ignoringTrap(() => {
      for (const bytes of this.#subscriptions.receive(chunk)) this.#toServer.write(bytes);
      this.#flush();
    });

  /** Writes while there is room. */
  #flush(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    ignoringTrap(() => this.#drain());
    this.#isFlushing = false;
    if (!this.#hasLapsed) this.#subscriptions.settle();
    this.#regulate();
  }

  /** Whoever has just written lets the other go first. */
  #drain(): void {
    while (!this.#isFull || this.#isBroken) {
      const [first, second] = this.#sources as [() => Uint8Array | undefined, () => Uint8Array | undefined];
      const bytes = first() ?? second();
      if (bytes === undefined) break;
      if (!this.#isBroken) this.#isFull = !this.#stdout.write(bytes);
      this.#sources.reverse();
    }
  }

  /** Hands over all that is left of the subscriptions, whether there is room or not: each has at most one cue for each topic. */
  #freeze(): void {
    ignoringTrap(() => {
      for (let bytes = this.#subscriptions.poll(); bytes !== undefined; bytes = this.#subscriptions.poll()) {
        if (!this.#isBroken) this.#isFull = !this.#stdout.write(bytes);
      }
    });
    if (!this.#hasLapsed) this.#subscriptions.settle();
  }

  readonly #drained = (): void => {
    this.#isFull = false;
    this.#flush();
  };

  #takeServerLines(): Uint8Array | undefined {
    for (;;) {
      const chunk = this.#fromServer.read() as Buffer | null;
      if (chunk === null) return undefined;
      const whole = this.#serverLines.take(chunk);
      if (this.#hasLapsed && whole !== undefined) return whole;
      const others = whole && this.#discovery.without(whole);
      const lines = others && this.#subscriptions.pass(others);
      if (lines !== undefined) return lines;
    }
  }

  /** Nothing more is read while the server has no room for it, or while answers of ours cannot be written. */
  readonly #regulate = (): void => {
    const mustWait = this.#toServer.writableNeedDrain || this.#subscriptions.hasAnswers;
    if (mustWait) this.#stdin.pause();
    else if (this.#stdin.isPaused() && !this.#toServer.writableEnded) this.#stdin.resume();
  };

  /** The client says no more: subscriptions end without a word, and the server learns it too. */
  readonly #endInput = (): void => {
    this.#forgetTraps();
    if (this.#toServer.writableEnded) return;
    this.#toServer.end(this.#subscriptions.end());
    this.#stdin.off('data', this.#receive).pause();
  };

  /** The client takes no more: what is left to say is for nobody. */
  readonly #break = (error?: Error): void => {
    if (error !== undefined && !isGone(error)) this.#onerror(error);
    this.#isBroken = true;
    this.#endInput();
    this.#flush();
  };

  readonly #fail = (error: Error): void => {
    this.#onerror(error);
    this.#endInput();
  };

  /**
   * Where in a line the client was nobody knows any more, nor to what it listens. So the connection ends: what the server behind
   * still has to say comes through, and whoever started this process finds that it has ended, and starts it anew.
   */
  readonly #trapped = (error: Error): void => {
    this.#hasLapsed = true;
    this.#subscriptions.lapse();
    this.#fail(error);
    setImmediate(() => this.#flush());
  };
}

function isGone(error: Error): boolean {
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** The bound of the official SDKs. */
const LINE_BYTES = 10 * 2 ** 20;
