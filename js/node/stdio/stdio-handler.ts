import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { Authorize } from '../../auth/authorize.js';
import type { AttachableBus } from '../../bus/attachable-bus.js';
import type { ListenBus, ServerEventBus } from '../../bus/bus.js';
import { toAttachableBus } from '../../bus/event-bus-adapter.js';
import { InMemoryBus } from '../../bus/memory/memory-bus.js';
import { type Notifier, notifierOn } from '../../bus/notifier.js';
import { type DeclaredServer, declared } from '../../handler/discovery.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import { DEFAULT_LIMITS, type ListenLimits, withDefaults } from '../../model/limits.js';
import { type ListenTimeouts, patienceOf, timeoutsOf } from '../../model/timeouts.js';
import { guarded, report } from '../../observe/on-error.js';
import { ignoringTrap, onReset } from '../../wasm/server/guard.js';
import { WholeLines } from './lines.js';
import { StdioDiscovery } from './stdio-discovery.js';
import { Subscriptions } from './subscriptions.js';

/**
 * Starts a stdio server that reads `stdin` and writes `stdout` instead of the process's own: connects an SDK's
 * transport to them, or pipes them to a child process. A promise that it returns may reject.
 */
export type StdioServer = (stdin: Readable, stdout: Writable) => unknown;

/** How `serveListenStdio` serves. */
export interface StdioListenOptions {
  /**
   * Carries events between publishers and streams.
   *
   * @default new InMemoryBus()
   */
  bus?: ListenBus | ServerEventBus;
  /**
   * The name of the server, and what it notifies about. Without it the server is asked with
   * `server/discover`, again when the `ttlMs` of its answer is over.
   *
   * @default undefined
   */
  server?: DeclaredServer;
  /**
   * Returns what the client may receive. Without it, everything.
   *
   * @default undefined
   */
  authorize?: Authorize<StdioAuthorizeContext>;
  /** Upper bounds in counts and bytes. */
  limits?: StdioListenLimits;
  /** How long things may take, in milliseconds. 0 disables a timeout. */
  timeouts?: StdioListenTimeouts;
  /**
   * Called with every error behind a refusal, a lost subscription or a failed publish.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * The stream that the client writes to.
   *
   * @default process.stdin
   */
  stdin?: Readable;
  /**
   * The stream that the client reads.
   *
   * @default process.stdout
   */
  stdout?: Writable;
}

/** What a client on stdio asks for. Whoever started the process is its client, so there is no more to say of it. */
export interface StdioAuthorizeContext {
  /** What the listen request asks for. */
  requested: SubscriptionFilter;
}

/** Upper bounds in counts and bytes. Each is the largest value that is still accepted. */
export interface StdioListenLimits extends ListenLimits {
  /**
   * Bytes of any line of the client. A longer one is refused, and reading continues after it. 0
   * accepts only empty lines.
   *
   * @default 10_485_760
   */
  lineBytes?: number;
}

/** The timeouts that apply on stdio. */
export type StdioListenTimeouts = Pick<ListenTimeouts, 'attachMs' | 'authorizeMs'>;

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
 * Serves `subscriptions/listen` (2026-07-28) on the process's stdin and stdout, in front of a stdio
 * server. Listens and what cancels them are answered here; every other line passes through, in both
 * directions, byte for byte.
 *
 * A client of an earlier revision, which begins with `initialize`, is notified as that has it: of
 * the lists, and of the resources that it subscribes to. Of what passes through, the answer to
 * `initialize` is made to name the capabilities of `server` where these are given, and that to
 * `resources/subscribe` is ours where the server behind has no such method.
 *
 * @throws ListenError `invalid-options`, and whatever `serve` throws.
 *
 * @example
 * ```ts
 * const server = serveListenStdio((stdin, stdout) => mcp.connect(new StdioServerTransport(stdin, stdout)));
 * await server.notify.toolsChanged();
 * ```
 */
export function serveListenStdio(
  serve: StdioServer,
  options: StdioListenOptions = {},
): StdioListenServer {
  const { onError = report, bus = new InMemoryBus({ onError }) } = options;
  const front = new StdioFront(serve, {
    ...options,
    bus: toAttachableBus(bus, onError),
    onError: guarded(onError),
  });
  const { close, flushed } = front;
  return { notify: notifierOn(front.bus), close, flushed, bus: front.bus };
}

type FrontOptions = StdioListenOptions & { bus: AttachableBus; onError: (error: Error) => void };

/** Stands between the client's streams and the server's, and lets lines of both writers take turns on stdout. */
class StdioFront {
  readonly bus: AttachableBus;
  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #toServer = new PassThrough();
  readonly #fromServer = new PassThrough();
  readonly #serverLines = new WholeLines();
  readonly #discovery: StdioDiscovery;
  readonly #subscriptions: Subscriptions;
  readonly #onError: (error: Error) => void;
  readonly #sources: Array<() => Uint8Array | undefined>;
  #isFull = false;
  #isBroken = false;
  #isFlushing = false;
  /** Whether the core has begun anew since, and every line passes as it is. */
  #hasLapsed = false;
  #forgetTraps = (): void => {};

  constructor(serve: StdioServer, options: FrontOptions) {
    const { bus, onError, server, stdin = process.stdin, stdout = process.stdout } = options;
    const limits = withDefaults(
      'limits',
      { ...DEFAULT_LIMITS, lineBytes: LINE_BYTES },
      options.limits ?? {},
    );
    const timeouts = timeoutsOf(options.timeouts);
    this.#discovery = new StdioDiscovery(this.#toServer, server && declared(server));
    this.bus = bus;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#onError = onError;
    this.#subscriptions = new Subscriptions({
      ...{
        authorize: options.authorize,
        bus,
        capabilities: server?.capabilities,
        limits,
        onError,
        timeouts,
      },
      discover: () => this.#discovery.ask(patienceOf(timeouts.attachMs)),
      onNews: () => this.#flush(),
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
      const [first, second] = this.#sources as [
        () => Uint8Array | undefined,
        () => Uint8Array | undefined,
      ];
      const bytes = first() ?? second();
      if (bytes === undefined) break;
      if (!this.#isBroken) this.#isFull = !this.#stdout.write(bytes);
      this.#sources.reverse();
    }
  }

  /** Hands over all that is left of the subscriptions, whether there is room or not: each has at most one cue for each topic. */
  #freeze(): void {
    ignoringTrap(() => {
      for (
        let bytes = this.#subscriptions.poll();
        bytes !== undefined;
        bytes = this.#subscriptions.poll()
      ) {
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
    if (error !== undefined && !isGone(error)) this.#onError(error);
    this.#isBroken = true;
    this.#endInput();
    this.#flush();
  };

  readonly #fail = (error: Error): void => {
    this.#onError(error);
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
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

/** The bound of the official SDKs. */
const LINE_BYTES = 10 * 2 ** 20;
