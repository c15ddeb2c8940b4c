import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { type BusNumbers, metricsText } from 'mcp-listen';
import { observeStats, traceRequests } from 'mcp-listen/otel';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { listenRequest, open, serving, TOOLS, URL } from '../serving.ts';
import { sessionServer } from '../sessions/serving.ts';
import { tracing } from './spans.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

afterAll(() => {
  context.disable();
  propagation.disable();
});

test('a listen has a span to its acknowledgment, a child of the span of its caller', async () => {
  const { exporter, tracer } = tracing();
  const server = serving({ tracer });
  const fetch = traceRequests(server, { tracer });
  const headers = { traceparent: PARENT, authorization: 'Bearer secret' };
  const response = await fetch(listenRequest(TOOLS, { headers }));
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({
    name: 'mcp_listen.listen',
    kind: 1,
    attributes: {
      'mcp_listen.request': 'listen',
      'http.request.method': 'POST',
      'http.response.status_code': 200,
    },
    status: { code: 0 },
    parentSpanContext: { spanId: SPAN, traceId: TRACE },
  });
  await response.body?.cancel();
});

test('the requests of a session have spans, and what they publish is a child', async () => {
  const { exporter, tracer } = tracing();
  const { server } = sessionServer({ tracer });
  const fetch = traceRequests(
    {
      fetch: async (request: Request) => {
        await server.notify.resourceUpdated('note://secret');
        return server.fetch(request);
      },
    },
    { tracer },
  );
  const begun = await fetch(post({ id: 1, method: 'initialize', params: INITIALIZE }));
  const session = begun.headers.get('mcp-session-id') ?? '';
  await fetch(post({ id: 2, method: 'ping' }, { 'mcp-session-id': session }));
  await fetch(new Request(URL, { method: 'DELETE', headers: { 'mcp-session-id': session } }));
  const spans = exporter.getFinishedSpans();
  const requests = spans.filter(({ name }) => name === 'mcp_listen.session');
  expect(requests.map(({ attributes }) => attributes['http.request.method'])).toEqual([
    'POST',
    'POST',
    'DELETE',
  ]);
  const publishes = spans.filter(({ name }) => name === 'mcp_listen.publish');
  expect(publishes.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    requests.map((span) => span.spanContext().spanId),
  );
  expect(JSON.stringify(spans.map(plain))).not.toMatch(new RegExp(`secret|note:|${session}`));
});

test('spans have no address, token, argument or payload', async () => {
  const { exporter, tracer } = tracing();
  const server = serving({ tracer, principal: () => ({ denied: 401 }) });
  const fetch = traceRequests(server, { tracer });
  const headers = { authorization: 'Bearer secret', 'mcp-session-id': 'secret' };
  await fetch(
    listenRequest({ resourceSubscriptions: ['note://secret'] }, { headers, id: '"secret"' }),
  );
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([401]);
  expect(JSON.stringify(spans.map(plain))).not.toMatch(/secret|localhost|http:/);
});

test('failures have an error status, and errors stay errors', async () => {
  const { exporter, tracer } = tracing();
  const unavailable = { fetch: async () => new Response(null, { status: 503 }) };
  const broken = {
    fetch: () => Promise.reject(Object.assign(new Error('secret'), { code: 'E1' })),
  };
  await traceRequests(unavailable, { tracer })(listenRequest(TOOLS));
  await expect(traceRequests(broken, { tracer })(listenRequest(TOOLS))).rejects.toThrow('secret');
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ attributes, status }) => [attributes['error.type'], status])).toEqual([
    ['503', { code: 2 }],
    ['E1', { code: 2 }],
  ]);
});

test('other requests have no span, and without a provider nothing changes', async () => {
  const { exporter, tracer } = tracing();
  const handler = { fetch: async (_: Request, more: string) => new Response(more) };
  const headers = { 'mcp-method': 'tools/call', 'content-type': 'application/json' };
  const request = () => new Request(URL, { method: 'POST', headers, body: '{}' });
  expect(await (await traceRequests(handler, { tracer })(request(), 'passed')).text()).toBe(
    'passed',
  );
  expect(exporter.getFinishedSpans()).toEqual([]);
  expect(await (await traceRequests(handler)(listenRequest(TOOLS), 'passed')).text()).toBe(
    'passed',
  );
});

test('metrics are those of Prometheus, with the same names, labels and values', async () => {
  const server = serving();
  const stream = await open(server, TOOLS);
  await stream.message();
  await server.notify.toolsChanged();
  await stream.message();
  await server.fetch(listenRequest('nonsense'));
  const { collected, meter } = metering();
  observeStats(server, { meter, bus: () => BUS });
  const text = metricsText(server.stats(), BUS);
  expect(await collected()).toEqual(fromText(text));
  expect((await collected())['mcp_listen_requests_refused_total{request}']).toBe(1);
  stream.drop();
});

test('a bus that fails leaves its metrics out, and stop ends the observation', async () => {
  const { collected, meter } = metering();
  const errors: Error[] = [];
  const bus = () => Promise.reject(new Error('no bus'));
  const server = { stats: vi.fn(serving().stats) };
  const stop = observeStats(server, { meter, bus, onError: (error) => errors.push(error) });
  const names = Object.keys(await collected());
  expect(names).toContain('mcp_listen_streams_open');
  expect(names.filter((name) => name.includes('bus'))).toEqual([]);
  expect(errors).toEqual([new Error('no bus')]);
  stop();
  server.stats.mockClear();
  await collected();
  expect(server.stats).not.toHaveBeenCalled();
});

test('a bus that does not reply leaves its metrics out after two seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  try {
    const { collected, meter } = metering();
    const onError = vi.fn();
    const bus = vi.fn(() => new Promise<BusNumbers>(() => {}));
    observeStats(serving(), { meter, bus, onError });
    const collecting = collected();
    await expect.poll(() => bus).toHaveBeenCalled();
    // The exporter takes another millisecond.
    await vi.advanceTimersByTimeAsync(2_001);
    const names = Object.keys(await collecting);
    expect(names).toContain('mcp_listen_streams_open');
    expect(names.filter((name) => name.includes('bus'))).toEqual([]);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'bus-unavailable' }));
  } finally {
    vi.useRealTimers();
  }
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;
const BUS: BusNumbers = { attached: 3, position: 12, sessions: 1 };
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'n', version: '1' },
};

function post(message: object, more: Record<string, string> = {}): Request {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return new Request(URL, { method: 'POST', headers, body });
}

/** The parts of a span that leave the process. */
function plain({
  attributes,
  events,
  links,
  name,
  status,
}: ReturnType<InMemorySpanExporter['getFinishedSpans']>[number]) {
  return { attributes, events, links, name, status };
}

/** A meter, and its values by name and reason or bound, as Prometheus names counters. */
function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter });
  const provider = new MeterProvider({ readers: [reader] });
  const collected = async () => {
    exporter.reset();
    await reader.forceFlush();
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    return Object.fromEntries(
      all.flatMap(({ metrics }) =>
        metrics.flatMap(({ dataPoints, dataPointType, descriptor: { name } }) =>
          dataPoints.map(({ attributes, value }) => [
            keyOf(dataPointType === DataPointType.SUM ? `${name}_total` : name, attributes),
            value,
          ]),
        ),
      ),
    );
  };
  return { collected, meter: provider.getMeter('mcp-listen') };
}

function keyOf(name: string, labels: Record<string, unknown> = {}): string {
  const label = labels['reason'] ?? labels['le'];
  return label === undefined ? name : `${name}{${label}}`;
}

function fromText(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', label, value] = /^(\w+)(?:\{\w+="(.*)"\})? (.*)$/.exec(line) ?? [];
      return [label === undefined ? name : `${name}{${label}}`, Number(value)];
    }),
  );
}
