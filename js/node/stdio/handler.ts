import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { AttachableBus } from '../../bus/attachable-bus.js';
import { toAttachableBus } from '../../bus/event-bus-adapter.js';
import { InMemoryBus } from '../../bus/memory/bus.js';
import { notifierOn } from '../../bus/notifier.js';
import { declared } from '../../handler/discovery.js';
import { DEFAULT_LIMITS, withDefaults } from '../../model/limits.js';
import { finiteTimeout, timeoutsOf } from '../../model/timeouts.js';
import { report, safeOnError } from '../../observe/on-error.js';
import { ignoringTrap, onReset } from '../../wasm/server/guard.js';
import { StdioDiscovery } from './discovery.js';
import { WholeLines } from './lines.js';
import type { StdioListenOptions, StdioListenServer, StdioServer } from './options.js';
import { Subscriptions } from './subscriptions.js';

/**
 * Serves `subscriptions/listen` (2026-07-28) on the process's stdin and stdout, in front of a stdio
 * server. This package handles listen requests and their cancellations; every other line passes
 * through byte for byte, in both directions.
 *
 * A client of an earlier revision, which begins with `initialize`, receives the notifications of
 * that revision: for the lists, and for the resources that it subscribes to. Two responses of the
 * MCP server are changed for it: the response to `initialize` announces the capabilities of
 * `server` if these are given, and the response to `resources/subscribe` is replaced if the MCP
 * server has no such method.
 *
 * @throws ListenError `invalid-options`, and whatever `serve` throws.
 *
 * @example
 * ```ts
 * const server = serveListenStdio((stdin, stdout) =>
 *   mcp.connect(new StdioServerTransport(stdin, stdout)),
 * );
 * await server.notify.toolsChanged();
 * ```
 */
export function serveListenStdio(
  serve: StdioServer,
  options: StdioListenOptions = {},
): StdioListenServer {
  const { onError = report, bus = new InMemoryBus({ onError }) } = options;
  const server = new StdioConnection(serve, {
    ...options,
    bus: toAttachableBus(bus, onError),
    onError: safeOnError(onError),
  });
  const { close, flushed } = server;
  return { notify: notifierOn(server.bus), close, flushed, bus: server.bus };
}

type StdioConnectionOptions = StdioListenOptions & {
  bus: AttachableBus;
  onError: (error: Error) => void;
};

/**
 * Connects the streams of the client with those of the MCP server, and interleaves the lines of
 * both writers on stdout.
 */
class StdioConnection {
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
  /** Whether the core was reset: every line passes through unchanged. */
  #wasReset = false;
  #removeResetListener = (): void => {};

  constructor(serve: StdioServer, options: StdioConnectionOptions) {
    const { bus, onError, server, stdin = process.stdin, stdout = process.stdout } = options;
    const limits = withDefaults(
      'limits',
      { ...DEFAULT_LIMITS, lineBytes: DEFAULT_LINE_BYTES },
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
      discover: () => this.#discovery.ask(finiteTimeout(timeouts.attachMs)),
      onOutput: () => this.#flush(),
    });
    this.#sources = [() => this.#subscriptions.poll(), () => this.#takeServerLines()];
    this.#removeResetListener = onReset(this.#handleTrap);
    this.#start(serve);
  }

  readonly close = async (): Promise<void> => {
    await this.#subscriptions.close();
    this.#writeRemaining();
    this.#endInput();
  };

  readonly flushed = (ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms, false);
      this.#stdout.write('', (error) => {
        clearTimeout(timer);
        resolve(!error && !this.#isBroken);
      });
    });

  #start(serve: StdioServer): void {
    const served = serve(this.#toServer, this.#fromServer);
    Promise.resolve(served).catch(this.#fail);
    this.#stdin.on('data', this.#receive).on('error', this.#fail);
    for (const end of ['end', 'close']) this.#stdin.once(end, this.#endInput);
    this.#stdout.on('drain', this.#drained).on('error', this.#break).once('close', this.#break);
    this.#toServer.on('drain', this.#applyBackpressure).on('error', this.#fail);
    this.#fromServer.on('readable', () => this.#flush()).on('error', this.#fail);
  }

  readonly #receive = (chunk: Buffer): void =>
    ignoringTrap(() => {
      for (const bytes of this.#subscriptions.receive(chunk)) this.#toServer.write(bytes);
      this.#flush();
    });

  /** Writes to stdout while it has room. */
  #flush(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    ignoringTrap(() => this.#drain());
    this.#isFlushing = false;
    if (!this.#wasReset) this.#subscriptions.settle();
    this.#applyBackpressure();
  }

  /** Alternates between the two sources. */
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

  /**
   * Writes all remaining output of the subscriptions, even beyond the room in stdout: at most one
   * cue for each topic.
   */
  #writeRemaining(): void {
    ignoringTrap(() => {
      for (
        let bytes = this.#subscriptions.poll();
        bytes !== undefined;
        bytes = this.#subscriptions.poll()
      ) {
        if (!this.#isBroken) this.#isFull = !this.#stdout.write(bytes);
      }
    });
    if (!this.#wasReset) this.#subscriptions.settle();
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
      if (this.#wasReset && whole !== undefined) return whole;
      const others = whole && this.#discovery.withoutResponse(whole);
      const lines = others && this.#subscriptions.pass(others);
      if (lines !== undefined) return lines;
    }
  }

  /**
   * Stops reading from the client while the MCP server has no room, or while responses of ours are
   * pending.
   */
  readonly #applyBackpressure = (): void => {
    const mustWait = this.#toServer.writableNeedDrain || this.#subscriptions.hasResponses;
    if (mustWait) this.#stdin.pause();
    else if (this.#stdin.isPaused() && !this.#toServer.writableEnded) this.#stdin.resume();
  };

  /**
   * Handles the end of the client's input: ends the subscriptions without a result, and the input
   * of the MCP server.
   */
  readonly #endInput = (): void => {
    this.#removeResetListener();
    if (this.#toServer.writableEnded) return;
    this.#toServer.end(this.#subscriptions.end());
    this.#stdin.off('data', this.#receive).pause();
  };

  /** Handles the loss of stdout: the remaining output is dropped. */
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
   * Handles a trap of the core: the position in the current line and the subscriptions are lost.
   * The connection ends: the remaining output of the MCP server passes through, and the client
   * sees that this process has ended and can restart it.
   */
  readonly #handleTrap = (error: Error): void => {
    this.#wasReset = true;
    this.#subscriptions.handleReset();
    this.#fail(error);
    setImmediate(() => this.#flush());
  };
}

function isGone(error: Error): boolean {
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

/** The line limit of the official SDKs, in bytes. */
const DEFAULT_LINE_BYTES = 10 * 2 ** 20;
