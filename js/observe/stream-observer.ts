import type { EndReason, RefusalKind } from '../model/stats/listen.js';
import type { LoggedStream, StreamLogger } from './log.js';
import { type SpanTracer, streamSpan, type TracedSpan } from './tracing.js';

/** Where {@link StreamObserver} reports to. */
export interface ObserverOptions {
  onLog?: StreamLogger | undefined;
  tracer?: SpanTracer | undefined;
  /** Called with exceptions of the other two. */
  onError: (error: Error) => void;
}

/**
 * Reports events of a server's streams to the log and the tracer. Exceptions of these do not affect
 * streams.
 */
export class StreamObserver {
  readonly #onLog: StreamLogger | undefined;
  readonly #tracer: SpanTracer | undefined;
  readonly #onError: (error: Error) => void;

  constructor({ onLog, tracer, onError }: ObserverOptions) {
    this.#onLog = onLog;
    this.#tracer = tracer;
    this.#onError = onError;
  }

  /** Reports that a request was refused. */
  refused(reason: RefusalKind): void {
    this.#safely(() => this.#onLog?.({ event: 'refuse', reason }));
  }

  /** Reports that a stream was opened; returns undefined if there is neither a log nor a tracer. */
  opened(stream: LoggedStream, request: Request): StreamSpan | undefined {
    const onLog = this.#onLog;
    const tracer = this.#tracer;
    if (onLog === undefined && tracer === undefined) return undefined;
    const log: StreamLogger = (record) => this.#safely(() => onLog?.(record));
    log({ event: 'open', stream });
    let span: TracedSpan | undefined;
    this.#safely(() => {
      span = tracer && streamSpan(tracer, stream, request.headers.get('traceparent'));
    });
    return new StreamSpan(stream, log, (action) => {
      this.#safely(() => span !== undefined && action(span));
    });
  }

  #safely(action: () => unknown): void {
    try {
      action();
    } catch (error) {
      this.#onError(error as Error);
    }
  }
}

/** Reports events of one stream to the log and the tracer. */
export class StreamSpan {
  readonly #stream: LoggedStream;
  readonly #log: StreamLogger;
  readonly #span: (action: (span: TracedSpan) => void) => void;
  readonly #opened = performance.now();
  readonly #outage: Outage;

  constructor(
    stream: LoggedStream,
    log: StreamLogger,
    span: (action: (span: TracedSpan) => void) => void,
  ) {
    this.#stream = stream;
    this.#log = log;
    this.#span = span;
    this.#outage = new Outage((record) => {
      log(record);
      span((traced) => traced.addEvent(record.event));
    });
  }

  /** Reports that the bus of the stream was lost or is attached again. */
  away(isAway: boolean): void {
    this.#outage.update(isAway, 1);
  }

  /** Reports that the stream ended. */
  ended(reason: EndReason): void {
    const ageMs = Math.round(performance.now() - this.#opened);
    this.#log({ event: 'end', stream: this.#stream, reason, ageMs });
    this.#span((span) => {
      span.setAttribute('mcp_listen.end', reason);
      span.end();
    });
  }
}

/** Returns a log for callers that cannot catch its exceptions; these go to `onError`. */
export function safely(
  onLog: StreamLogger | undefined,
  onError: (error: Error) => void,
): StreamLogger {
  return (record) => {
    try {
      onLog?.(record);
    } catch (error) {
      onError(error as Error);
    }
  };
}

/** Logs when a bus is lost, and when it is attached again. */
export class Outage {
  readonly #onLog: StreamLogger;
  #since: number | undefined;

  constructor(onLog: StreamLogger) {
    this.#onLog = onLog;
  }

  /** Logs a change of the state of the bus, with the number of its streams. */
  update(isAway: boolean, streams: number): void {
    const since = this.#since;
    if (isAway === (since !== undefined)) return;
    this.#since = isAway ? performance.now() : undefined;
    if (since === undefined) this.#onLog({ event: 'outage', streams });
    else this.#onLog({ event: 'heal', streams, awayMs: Math.round(performance.now() - since) });
  }
}
