import {
  type BusNumbers,
  createMetricsHandler,
  InMemoryBus,
  type MetricsHandlerOptions,
  metricsText,
} from 'mcp-listen';
import parse from 'parse-prometheus-text-format';
import { expect, test, vi } from 'vitest';
import { updated } from '../../host/listen.ts';
import { listenRequest, open, serving, TOOLS, watched } from '../serving.ts';

test('a server and its bus object export at most 50 series, whatever streams name', async () => {
  const { server } = watched();
  const streams = Array.from({ length: 30 }, (_, number) =>
    open(
      server,
      { resourceSubscriptions: [`note://secret/${number}`] },
      { id: `"private-${number}"` },
    ),
  );
  for (const stream of await Promise.all(streams)) await stream.message();
  for (let number = 0; number < 30; number += 1)
    await server.notify.resourceUpdated(`note://secret/${number}`);
  await server.fetch(listenRequest('nonsense', { id: '"private"' }));
  const text = metricsText(server.stats(), BUS);
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(series.length).toBeLessThanOrEqual(50);
  expect(text).not.toMatch(/secret|private|note:/);
  for (const line of series)
    expect(line).toMatch(/^mcp_listen_[a-z_]+(\{(reason="[a-z]+"|le="([\d.]+|\+Inf)")\})? [\d.]+$/);
});

test('a parser of the Prometheus format reads every number', async () => {
  const { server } = watched();
  const stream = await open(server, TOOLS);
  await stream.message();
  await server.notify.toolsChanged();
  await stream.message();
  await server.fetch(listenRequest('nonsense'));
  stream.drop();
  await expect.poll(() => server.stats().open).toBe(0);
  const families = read(metricsText(server.stats(), BUS));
  expect(families.get('mcp_listen_streams_open')).toEqual({ type: 'GAUGE', values: { '': 0 } });
  expect(families.get('mcp_listen_streams_ended_total')).toMatchObject({
    type: 'COUNTER',
    values: { left: 1, closed: 0 },
  });
  expect(families.get('mcp_listen_requests_refused_total')).toMatchObject({
    values: { request: 1, http: 0 },
  });
  expect(families.get('mcp_listen_notifications_total')).toEqual({
    type: 'COUNTER',
    values: { '': 1 },
  });
  expect(families.get('mcp_listen_bus_events_total')).toEqual({
    type: 'COUNTER',
    values: { '': 12 },
  });
  expect(families.get('mcp_listen_bus_sessions')).toEqual({ type: 'GAUGE', values: { '': 1 } });
  expect(families.has('mcp_listen_bus_webhooks')).toBe(false);
  const hooked = read(metricsText(server.stats(), { ...BUS, webhooks: 3 }));
  expect(hooked.get('mcp_listen_bus_webhooks')).toEqual({ type: 'GAUGE', values: { '': 3 } });
});

test('the write delay is a histogram with cumulative buckets and a sum in seconds', () => {
  const bounds = [5, 20, 100, 500, 2_000, 10_000, Number.POSITIVE_INFINITY];
  const written = [1, 2, 3, 0, 4, 0, 5].map((count, place) => ({ le: bounds[place] ?? 0, count }));
  const text = metricsText({ ...serving().stats(), writeDelayMs: 61_500, written });
  expect(parse(text).find(({ name }) => name === 'mcp_listen_write_delay_seconds')).toMatchObject({
    type: 'HISTOGRAM',
    metrics: [
      {
        buckets: { '0.02': '3', '0.1': '6', '0.5': '6', '2': '10', '+Inf': '15' },
        count: '15',
        sum: '61.5',
      },
    ],
  });
  const labels = [...text.matchAll(/write_delay_seconds_bucket{le="([^"]+)"/g)].map(([, le]) =>
    Number(le?.replace('+Inf', 'Infinity')),
  );
  expect(labels).toEqual([...labels].sort((one, other) => one - other));
});

test('the time to the acknowledgment is a histogram without a sum', async () => {
  const { server } = watched();
  const stream = await open(server, TOOLS);
  await stream.message();
  const text = metricsText(server.stats());
  expect(parse(text).find(({ name }) => name === 'mcp_listen_ack_seconds')).toMatchObject({
    type: 'HISTOGRAM',
    metrics: [{ buckets: { '+Inf': '1' }, count: '1' }],
  });
  stream.drop();
});

test('the write delay counts from the publish', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const { server } = watched();
    const stream = await open(server, { resourceSubscriptions: ['note://1'] });
    await stream.message();
    // The stream is not read: the first is on its way, and the second waits.
    await server.notify.resourceUpdated('note://1');
    await server.notify.resourceUpdated('note://1');
    vi.advanceTimersByTime(250);
    expect(await stream.message()).toBe(updated('1', 'note://1'));
    expect(await stream.message()).toBe(updated('1', 'note://1'));
    const { notifications, writeDelayMs, written } = server.stats();
    expect([notifications, writeDelayMs]).toEqual([2, 250]);
    expect(written).toContainEqual({ le: 500, count: 1 });
  } finally {
    vi.useRealTimers();
  }
});

test('only a GET with the token reads the metrics', async () => {
  const endpoint = createMetricsHandler({ token: 'open-sesame-open', stats: serving().stats });
  const ask = async (authorization?: string, method = 'GET'): Promise<Response> =>
    endpoint(
      new Request('http://localhost/metrics', {
        method,
        headers: authorization ? { authorization } : {},
      }),
    );
  for (const wrong of [
    undefined,
    'Bearer',
    'Bearer ',
    'Bearer open-sesame-ope',
    'Bearer open-sesame-openn',
    'Bearer OPEN-SESAME-OPEN',
    'Basic open-sesame-open',
  ]) {
    const response = await ask(wrong);
    expect([wrong, response.status, response.headers.get('www-authenticate')]).toEqual([
      wrong,
      401,
      'Bearer',
    ]);
    expect(await response.text()).toBe('');
  }
  expect((await ask('Bearer open-sesame-open', 'POST')).status).toBe(405);
  const response = await ask('bearer open-sesame-open');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(parse(await response.text()).length).toBeGreaterThan(10);
});

test('every byte of the token is compared, whatever comes before it', async () => {
  const endpoint = createMetricsHandler({ token: 'open-sesame-open', stats: serving().stats });
  const compared = vi.spyOn(Uint8Array.prototype, 'reduce');
  for (const guess of ['x', 'open-sesame-open', 'open-sesame-opex']) {
    const headers = { authorization: `Bearer ${guess}` };
    await endpoint(new Request('http://localhost/metrics', { headers }));
  }
  expect(compared.mock.contexts.map((digest) => (digest as Uint8Array).length)).toEqual([
    32, 32, 32,
  ]);
  compared.mockRestore();
});

test.each(['', 'fifteen-letters', undefined])('a short token is refused: %s', (token) => {
  const options = { token, stats: serving().stats } as MetricsHandlerOptions;
  expect(() => createMetricsHandler(options)).toThrow(
    expect.objectContaining({ code: 'invalid-options' }),
  );
});

test('where the bus cannot be asked, the metrics are those of the server', async () => {
  const errors: Error[] = [];
  const bus = () => Promise.reject(new Error('no bus'));
  const endpoint = createMetricsHandler({
    token: 'open-sesame-open',
    stats: serving().stats,
    bus,
    onError: (error) => errors.push(error),
  });
  const text = await (
    await endpoint(
      new Request('http://x/', { headers: { authorization: 'Bearer open-sesame-open' } }),
    )
  ).text();
  expect(text).toContain('mcp_listen_streams_open 0');
  expect(text).not.toContain('mcp_listen_bus');
  expect(errors).toEqual([new Error('no bus')]);
});

test('a bus that does not reply is waited for two seconds, and its metrics are left out', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  try {
    const errors: Error[] = [];
    const bus = vi.fn(() => new Promise<BusNumbers>(() => {}));
    const endpoint = createMetricsHandler({
      token: 'open-sesame-open',
      stats: serving().stats,
      bus,
      onError: (error) => errors.push(error),
    });
    const headers = { authorization: 'Bearer open-sesame-open' };
    const scraped = endpoint(new Request('http://x/', { headers }));
    await expect.poll(() => bus).toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    const text = await (await scraped).text();
    expect(text).toContain('mcp_listen_streams_open 0');
    expect(text).not.toContain('mcp_listen_bus');
    expect(errors).toMatchObject([{ code: 'bus-unavailable' }]);
  } finally {
    vi.useRealTimers();
  }
});

test('InMemoryBus has no metrics', () => {
  expect(metricsText(serving({ bus: new InMemoryBus() }).stats())).not.toContain('mcp_listen_bus_');
});

/** The values of each family by reason. */
function read(text: string): Map<string, { type: string; values: Record<string, number> }> {
  return new Map(
    parse(text).map(({ metrics: samples, name, type }) => [
      name,
      {
        type,
        values: Object.fromEntries(
          samples.map(({ labels, value }) => [labels?.['reason'] ?? '', Number(value)]),
        ),
      },
    ]),
  );
}

const BUS: BusNumbers = { attached: 3, position: 12, sessions: 1 };
