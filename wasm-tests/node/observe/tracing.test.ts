import { Server } from '@modelcontextprotocol/server';
import { InMemoryBus, type ListenHandlerOptions, publishChanges } from 'mcp-listen';
import { expect, test } from 'vitest';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, open, serving, TOOLS } from '../serving.ts';
import { tracing } from './spans.ts';

test('the span of a stream begins a trace, and is linked to the request that opened it', async () => {
  const { exporter, server } = traced();
  const response = await server.fetch(listenRequest(TOOLS, { headers: { traceparent: PARENT } }));
  expect(exporter.getFinishedSpans()).toEqual([]);
  await response.body?.cancel();
  await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(1);
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({
    name: 'mcp_listen.stream',
    kind: 1,
    attributes: { 'mcp_listen.stream': 'listen', 'mcp_listen.end': 'left' },
    links: [{ context: { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true } }],
  });
  expect(span?.parentSpanContext).toBeUndefined();
  expect(span?.spanContext().traceId).not.toBe(TRACE);
});

test('the span of a publish is linked to its traceparent, and names no resource', async () => {
  const { exporter, server } = traced();
  await server.notify.resourceUpdated('note://secret', { traceparent: PARENT });
  await server.notify.toolsChanged({ traceparent: null });
  await server.notify.toolsChanged();
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(Array(3).fill('mcp_listen.publish'));
  expect(spans.map(({ links }) => links.map(({ context }) => context.spanId))).toEqual([
    [SPAN],
    [],
    [],
  ]);
  expect(spans.map(({ attributes }) => attributes['mcp_listen.event'])).toEqual([
    'resource_updated',
    'tools_list_changed',
    'tools_list_changed',
  ]);
  expect(spans.map(({ attributes }) => JSON.stringify(attributes)).join()).not.toContain('secret');
});

test('a publish by publishChanges has a span too', async () => {
  const { exporter, tracer } = tracing();
  const onError = () => {};
  const bus = new InMemoryBus({ onError });
  const server = await publishChanges(
    () => new Server({ name: 'n', version: '1' }, { capabilities: ALL }),
    bus,
    {
      onError,
      tracer,
    },
  )();
  await Promise.all([
    server.sendToolListChanged(),
    server.sendResourceUpdated({ uri: 'note://secret' }),
    server.sendResourceUpdated({ uri: 'note://other' }),
  ]);
  await expect(server.sendResourceUpdated({ uri: '' })).rejects.toThrow();
  expect(exporter.getFinishedSpans()).toMatchObject([
    {
      name: 'mcp_listen.publish',
      attributes: { 'mcp_listen.event': 'tools_list_changed,resource_updated' },
      kind: 3,
    },
    {
      attributes: { 'mcp_listen.event': 'resource_updated', 'error.type': 'invalid-uri' },
      status: { code: 2 },
    },
  ]);
});

test('the span of a publish that fails has an error status', async () => {
  const { exporter, server } = traced({ onError: () => {} });
  await expect(server.notify.resourceUpdated('')).rejects.toThrow();
  expect(exporter.getFinishedSpans()).toMatchObject([
    { status: { code: 2 }, attributes: { 'error.type': 'invalid-uri' } },
  ]);
});

test('the span of a stream has an event for the loss of its bus, and one for its return', async () => {
  const bus = new BreakableBus();
  const { exporter, server } = traced({ bus });
  const stream = await open(server, TOOLS);
  await stream.message();
  bus.lose();
  await expect.poll(() => server.stats().away).toBe(0);
  await server.close();
  await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(1);
  const [span] = exporter.getFinishedSpans();
  expect(span?.events.map(({ name }) => name)).toEqual(['outage', 'heal']);
});

test.each([
  ['no text', ''],
  ['another form', 'abc'],
  ['an invalid version', `ff-${'4'.repeat(32)}-${'1'.repeat(16)}-01`],
  ['version 00 with more fields', `${'00'}-${'4'.repeat(32)}-${'1'.repeat(16)}-01-more`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`],
  ['a span of zeros', `00-${'4'.repeat(32)}-${'0'.repeat(16)}-01`],
  ['capital letters', `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`],
])('a traceparent of %s links to nothing', async (_what, traceparent) => {
  const { exporter, server } = traced();
  await server.notify.toolsChanged({ traceparent });
  expect(exporter.getFinishedSpans().map(({ links }) => links)).toEqual([[]]);
});

test('fields of later versions of traceparent are ignored', async () => {
  const { exporter, server } = traced();
  await server.notify.toolsChanged({ traceparent: `01-${TRACE}-${SPAN}-00-more` });
  expect(exporter.getFinishedSpans()[0]?.links[0]?.context).toMatchObject({
    traceId: TRACE,
    traceFlags: 0,
  });
});

test('a tracer that throws affects no stream', async () => {
  const errors: Error[] = [];
  const server = serving({ tracer: { startSpan: broken }, onError: (error) => errors.push(error) });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  await server.close();
  expect(errors).toEqual([new Error('broken')]);
});

test.each([
  ['at the start of a span', { startSpan: broken }],
  [
    'in the methods of a span',
    {
      startSpan: () => ({ addEvent: broken, setAttribute: broken, setStatus: broken, end: broken }),
    },
  ],
])('a tracer that throws %s affects neither a publish nor its error', async (_when, tracer) => {
  const errors: Error[] = [];
  const onError = (error: Error): void => void errors.push(error);
  const server = serving({ tracer, onError });
  const stream = await open(server, TOOLS);
  await stream.message();
  await server.notify.toolsChanged();
  expect(await stream.message()).toContain('list_changed');
  await expect(server.notify.resourceUpdated('')).rejects.toMatchObject({ code: 'invalid-uri' });
  expect(errors.length).toBeGreaterThan(1);
  const factory = publishChanges(
    () => new Server({ name: 'n', version: '1' }, { capabilities: ALL }),
    server.bus,
    {
      onError,
      tracer,
    },
  );
  await (await factory()).sendToolListChanged();
  expect(await stream.message()).toContain('list_changed');
  await server.close();
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

const ALL = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } };

/** A server with the SDK of OpenTelemetry. */
function traced(options: ListenHandlerOptions = {}) {
  const { exporter, tracer } = tracing();
  return { exporter, server: serving({ ...options, tracer }) };
}

function broken(): never {
  throw new Error('broken');
}
