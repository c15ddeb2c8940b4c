import type { RefusalKind, StreamEnding } from '../model/stats.js';
import type { LoggedStream, StreamLogger } from './log.js';
import { type SpanTracer, streamSpan, type TracedSpan } from './tracing.js';

/** Who is told what happens to the streams of a server. */
export interface ObserverOptions {
  onLog?: StreamLogger | undefined;
  tracer?: SpanTracer | undefined;
  /** Told of what the others throw. */
  onError: (error: Error) => void;
}

/** Tells logs and traces what happens to the streams of a server. What these throw is no stream's business. */
export class StreamObserver {
  readonly #onLog: StreamLogger | undefined;
  readonly #tracer: SpanTracer | undefined;
  readonly #onError: (error: Error) => void;

  constructor({ onLog, tracer, onError }: ObserverOptions) {
    this.#onLog = onLog;
    this.#tracer = tracer;
    this.#onError = onError;
  }

  /** A request is refused. */
  refused(reason: RefusalKind): void {
    this.#safely(() => this.#onLog?.({ event: 'refuse', reason }));
  }

  /** A stream is open; undefined where nobody wants to know what becomes of it. */
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

/** Tells logs and traces what happens to one stream. */
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

  /** Its bus is away, or back. */
  away(isAway: boolean): void {
    this.#outage.tell(isAway, 1);
  }

  /** It has ended. */
  ended(reason: StreamEnding): void {
    const ageMs = Math.round(performance.now() - this.#opened);
    this.#log({ event: 'end', stream: this.#stream, reason, ageMs });
    this.#span((span) => {
      span.setAttribute('mcp_listen.end', reason);
      span.end();
    });
  }
}

/** A log for places where nobody would catch what it throws. */
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

/** Tells a log when a bus is lost, and when it is back. */
export class Outage {
  readonly #onLog: StreamLogger;
  #since: number | undefined;

  constructor(onLog: StreamLogger) {
    this.#onLog = onLog;
  }

  /** So many streams have that bus, which is away or not. */
  tell(isAway: boolean, streams: number): void {
    const since = this.#since;
    if (isAway === (since !== undefined)) return;
    this.#since = isAway ? performance.now() : undefined;
    if (since === undefined) this.#onLog({ event: 'outage', streams });
    else this.#onLog({ event: 'heal', streams, awayMs: Math.round(performance.now() - since) });
  }
}
