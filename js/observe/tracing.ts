/**
 * What is used of OpenTelemetry's `Tracer`: one of `@opentelemetry/api` can be given.
 *
 * @internal
 */
export interface SpanTracer {
  /** Starts a span. */
  startSpan(name: string, options: SpanOptions): TracedSpan;
}

/**
 * How a span is started.
 *
 * @internal
 */
export interface SpanOptions {
  /** OpenTelemetry's `SpanKind`. */
  kind: number;
  /** Whether it begins a trace, whatever is going on. */
  root: boolean;
  /** What it tells of itself. */
  attributes: Record<string, string>;
  /** What brought it about. */
  links: { context: RemoteSpan }[];
}

/**
 * What is used of OpenTelemetry's `Span`.
 *
 * @internal
 */
export interface TracedSpan {
  /** Something happened meanwhile. */
  addEvent(name: string): unknown;
  /** Tells more of itself. */
  setAttribute(name: string, value: string): unknown;
  /** How it went. */
  setStatus(status: { code: number }): unknown;
  /** It is over. */
  end(): void;
}

/** Who brought a publish about. */
export interface PublishContext {
  /** The `traceparent` of whatever caused the change, as in the header field of that name. */
  traceparent?: string | null;
}

/** A stream outlives the request that opened it: its span begins a trace of its own, and is linked to the request's. */
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

/** A tracer, and who is told of what it throws: that is no publish's business. */
export interface Tracing {
  tracer: SpanTracer;
  onError: (error: Error) => void;
}

/** Publishes within a span that is linked to what caused the change; several kinds stand beside each other, with commas. */
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

const SERVER = 1;
const PRODUCER = 3;
const FAILED = 2;

/**
 * Where a trace comes from, as OpenTelemetry's `SpanContext` has it.
 *
 * @internal
 */
export interface RemoteSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** 1: sampled. */
  traceFlags: number;
  /** It comes from another process. */
  isRemote: true;
}

/** What a `traceparent` of W3C's Trace Context says; undefined where it is none. */
export function remoteSpan(traceparent: string | null | undefined): RemoteSpan | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] =
    FORM.exec(traceparent ?? '') ?? [];
  // What later versions add is not looked at; the first has nothing to add.
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined))
    return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
