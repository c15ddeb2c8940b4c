import type { Readable, Writable } from 'node:stream';
import type { Authorize } from '../../auth/authorize.js';
import type { ListenBus, ServerEventBus } from '../../bus/bus.js';
import type { Notifier } from '../../bus/notifier.js';
import type { DeclaredServer } from '../../handler/discovery.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { ListenLimits } from '../../model/limits.js';
import type { ListenTimeouts } from '../../model/timeouts.js';

/**
 * Starts a stdio server that uses `stdin` and `stdout` instead of the streams of the process:
 * connects an SDK transport to them, or pipes them to a child process. May return a promise; its
 * rejection is passed to `onError`.
 */
export type StdioServer = (stdin: Readable, stdout: Writable) => unknown;

/** Options of `serveListenStdio`. */
export interface StdioListenOptions {
  /**
   * Carries events between publishers and streams.
   *
   * @default new InMemoryBus()
   */
  bus?: ListenBus | ServerEventBus;
  /**
   * The name of the server and its capabilities. If omitted, the server is asked with
   * `server/discover`, and again when the `ttlMs` of its response has passed.
   *
   * @default undefined
   */
  server?: DeclaredServer;
  /**
   * Returns what the client may receive. If omitted, it may receive everything.
   *
   * @default undefined
   */
  authorize?: Authorize<StdioAuthorizeContext>;
  /** Upper bounds in counts and bytes. */
  limits?: StdioListenLimits;
  /** Timeouts in milliseconds. 0 disables a timeout. */
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

/**
 * The request of a client on stdio. The client is the process that started this one, so its
 * identity is not described further.
 */
export interface StdioAuthorizeContext {
  /** The filter of the listen request. */
  requested: SubscriptionFilter;
}

/** Upper bounds in counts and bytes. Each is the largest value that is still accepted. */
export interface StdioListenLimits extends ListenLimits {
  /**
   * Bytes of one line of the client. A longer line is refused, and reading continues after it. 0
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
   * Ends all subscriptions gracefully, then ends the input of the MCP server, so that the process
   * can exit. Resolves when the pending cues and the results were passed to `stdout`: within about
   * a second, whether the client reads or not.
   */
  close: () => Promise<void>;
  /**
   * Waits until `stdout` has accepted everything that was written, for `ms` milliseconds at most.
   * Resolves with whether it has. A process that calls `process.exit` after `close` must call this
   * first.
   */
  flushed: (ms: number) => Promise<boolean>;
  /** The bus that carries the events. */
  bus: ListenBus;
}
