/**
 * Traces and metrics of a server with OpenTelemetry. Pass a tracer as the option `tracer` too, for
 * the spans of streams and publishes.
 *
 * @packageDocumentation
 */
import {
  type Context,
  context,
  type Meter,
  metrics,
  type Observable,
  type ObservableResult,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { ListenStats } from '../model/stats/listen.js';
import {
  type BusNumbers,
  type MetricFamily,
  metricFamilies,
  numbersOf,
} from '../observe/metric-families.js';
import { report } from '../observe/on-error.js';

/** Options of {@link traceRequests}. */
export interface TraceRequestsOptions {
  /**
   * Starts the spans.
   *
   * @default trace.getTracer('mcp-listen')
   */
  tracer?: Tracer;
}

/** Options of {@link observeStats}. */
export interface ObserveStatsOptions {
  /**
   * Creates the instruments.
   *
   * @default metrics.getMeter('mcp-listen')
   */
  meter?: Meter;
  /**
   * Returns the numbers of the bus object, for example from its `stats()`. This wakes a bus that
   * hibernates, at every collection.
   *
   * @default undefined
   */
  bus?: () => BusNumbers | Promise<BusNumbers>;
  /**
   * Called with the error if `bus` fails or takes more than 2 seconds. The collection then leaves
   * out the numbers of the bus.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
}

/**
 * Wraps `fetch` of a server: listen requests and requests of sessions get a span, from the request
 * to the head of its response. For a listen, this is the time to the acknowledgment. The span is a
 * child of that of the caller, and the active span while the request is handled. It has the HTTP
 * method and the status, and nothing that the client sent. Other requests get no span.
 *
 * @example
 * ```ts
 * const tracer = trace.getTracer('lamp');
 * const server = createListenHandler(mcp, { bus, tracer });
 * export default { fetch: traceRequests(server, { tracer }) };
 * ```
 */
export function traceRequests<Args extends unknown[]>(
  { fetch }: { fetch: (request: Request, ...args: Args) => Promise<Response> },
  { tracer = trace.getTracer(SCOPE) }: TraceRequestsOptions = {},
): (request: Request, ...args: Args) => Promise<Response> {
  return async (request, ...args) => {
    const kind = kindOf(request);
    if (kind === undefined) return fetch(request, ...args);
    const parent = propagation.extract(context.active(), request.headers, FIELDS);
    const attributes = { 'mcp_listen.request': kind, 'http.request.method': request.method };
    const options = { kind: SpanKind.SERVER, attributes };
    const span = tracer.startSpan(`mcp_listen.${kind}`, options, parent);
    return withSpan(span, parent, () => fetch(request, ...args));
  };
}

async function withSpan(
  span: Span,
  parent: Context,
  respond: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await context.with(trace.setSpan(parent, span), respond);
    span.setAttribute('http.response.status_code', response.status);
    if (response.status >= 500) setFailed(span, String(response.status));
    return response;
  } catch (error) {
    setFailed(span, String((error as { code?: unknown }).code ?? 'unknown'));
    throw error;
  } finally {
    span.end();
  }
}

function setFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Since 2026-07-28 every request names its method in a header field. */
function kindOf({ headers, method }: Request): 'listen' | 'session' | undefined {
  const named = headers.get('mcp-method');
  if (method === 'POST' && named === 'subscriptions/listen') return 'listen';
  const isOfSession = headers.has('mcp-session-id') || (method === 'POST' && named === null);
  return isOfSession && ['GET', 'POST', 'DELETE'].includes(method) ? 'session' : undefined;
}

/**
 * Observes the statistics of a server at each collection, with the names and labels of
 * `metricsText`: counters without `_total`, and the parts of the histogram as gauges, as
 * OpenTelemetry has no histogram that is observed. Returns a function that stops it.
 *
 * @example
 * ```ts
 * const stop = observeStats(server, { meter: metrics.getMeter('lamp') });
 * ```
 */
export function observeStats(
  { stats }: { stats: () => ListenStats },
  { bus, meter = metrics.getMeter(SCOPE), onError = report }: ObserveStatsOptions = {},
): () => void {
  const families = metricFamilies(stats(), bus === undefined ? undefined : NO_BUS);
  const instruments = new Map(families.flatMap((family) => instrumentsOf(meter, family)));
  const observe = async (result: { observe: Observe }): Promise<void> => {
    const numbers = await numbersOf(bus, onError);
    for (const { name, samples } of metricFamilies(stats(), numbers))
      for (const { labels, suffix = '', value } of samples) {
        const instrument = instruments.get(name + suffix);
        if (instrument !== undefined) result.observe(instrument, value, labels);
      }
  };
  const observed = [...instruments.values()];
  meter.addBatchObservableCallback(observe, observed);
  return () => meter.removeBatchObservableCallback(observe, observed);
}

type Observe = (
  instrument: Observable,
  ...observation: Parameters<ObservableResult['observe']>
) => void;

function instrumentsOf(
  meter: Meter,
  { help: description, name, samples, type }: MetricFamily,
): [name: string, Observable][] {
  if (type === 'counter') {
    const plain = name.replace(/_total$/, '');
    return [[name, meter.createObservableCounter(plain, { description })]];
  }
  const names = new Set(samples.map(({ suffix = '' }) => name + suffix));
  return [...names].map((full) => [full, meter.createObservableGauge(full, { description })]);
}

const SCOPE = 'mcp-listen';
const NO_BUS: BusNumbers = { attached: 0, position: 0, sessions: 0, webhooks: 0 };
const FIELDS: TextMapGetter<Headers> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: (headers) => [...headers.keys()],
};
