/**
 * The part of OpenTelemetry's `Tracer` that is used here: pass one of `@opentelemetry/api`.
 *
 * @internal
 */
export interface SpanTracer {
  /** Starts a span. */
  startSpan(name: string, options: SpanOptions): TracedSpan;
}

/**
 * Options of a span.
 *
 * @internal
 */
export interface SpanOptions {
  /** OpenTelemetry's `SpanKind`. */
  kind: number;
  /** Whether the span begins a new trace. */
  root: boolean;
  /** Attributes of the span. */
  attributes: Record<string, string>;
  /** Links to the spans that caused this one. */
  links: { context: RemoteSpan }[];
}

/**
 * The part of OpenTelemetry's `Span` that is used here.
 *
 * @internal
 */
export interface TracedSpan {
  /** Adds an event. */
  addEvent(name: string): unknown;
  /** Sets an attribute. */
  setAttribute(name: string, value: string): unknown;
  /** Sets the status. */
  setStatus(status: { code: number }): unknown;
  /** Ends the span. */
  end(): void;
}

/** What caused a publish. */
export interface PublishContext {
  /**
   * The `traceparent` of the cause, as in the header field of that name.
   *
   * @default undefined
   */
  traceparent?: string | null;
}

/**
 * Starts the span of a stream. A stream outlives the request that opened it, so its span begins a
 * new trace with a link to that of the request.
 */
export function streamSpan(
  tracer: SpanTracer,
  stream: string,
  traceparent: string | null,
): TracedSpan {
  const attributes = { 'mcp_listen.stream': stream };
  return tracer.startSpan('mcp_listen.stream', {
    kind: SERVER,
    root: true,
    attributes,
    links: linksTo(traceparent),
  });
}

/** A tracer, and the handler of its exceptions, which do not affect publishes. */
export interface Tracing {
  tracer: SpanTracer;
  onError: (error: Error) => void;
}

/**
 * Publishes within a span that is linked to the cause of the change. `kind` lists several kinds
 * separated by commas.
 */
export async function publishing(
  tracing: Tracing | undefined,
  kind: string,
  { traceparent }: PublishContext,
  publish: () => Promise<void>,
): Promise<void> {
  if (tracing === undefined) return publish();
  const { onError, tracer } = tracing;
  const safely = <T>(action: () => T): T | undefined => {
    try {
      return action();
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  };
  const attributes = { 'mcp_listen.event': kind };
  const links = linksTo(traceparent);
  const span = safely(() =>
    tracer.startSpan('mcp_listen.publish', { kind: PRODUCER, root: false, attributes, links }),
  );
  try {
    await publish();
  } catch (error) {
    safely(() => {
      span?.setAttribute('error.type', String((error as { code?: unknown }).code ?? 'unknown'));
      span?.setStatus({ code: FAILED });
    });
    throw error;
  } finally {
    safely(() => span?.end());
  }
}

function linksTo(traceparent: string | null | undefined): { context: RemoteSpan }[] {
  const context = remoteSpan(traceparent);
  return context === undefined ? [] : [{ context }];
}

/** Kinds and the status of spans, as OpenTelemetry numbers them. */
const SERVER = 1;
const PRODUCER = 3;
const FAILED = 2;

/**
 * The origin of a trace, as OpenTelemetry's `SpanContext`.
 *
 * @internal
 */
export interface RemoteSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** Trace flags; 1: sampled. */
  traceFlags: number;
  /** The span is from another process. */
  isRemote: true;
}

/** Parses a `traceparent` of W3C Trace Context; undefined if it is invalid. */
export function remoteSpan(traceparent: string | null | undefined): RemoteSpan | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] =
    FORM.exec(traceparent ?? '') ?? [];
  // Fields that later versions append are ignored; version 00 has none.
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined))
    return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
