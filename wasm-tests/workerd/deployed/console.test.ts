import type { Snapshot } from 'mcp-listen';
import parse from 'parse-prometheus-text-format';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { acknowledged, listChanged, listen, updated } from '../../host/listen.ts';
import { BEARER, OPERATOR, OPERATOR_BEARER, SECRET } from '../../host/signing.ts';

let workerd: Workerd;
let origin: string;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 2,
    text: { CONSOLE: 'on', PUBLISH_TOKEN: SECRET, OPERATOR_TOKEN: OPERATOR, METRICS_TOKEN },
  });
  [origin = ''] = workerd.edges;
});
afterAll(() => workerd?.stop());

describe('POST /publish', () => {
  test('responds with the positions of the events, which reach streams in another isolate', async () => {
    const stream = await listen(`${workerd.edges[1]}/mcp`, {
      resourceSubscriptions: ['note://todo', 'note://x'],
    });
    onTestFinished(() => stream.drop());
    await stream.message();
    const first = await positionOf(publish(todo()));
    expect(await stream.message()).toBe(updated('1', 'note://todo'));
    expect(await positionOf(publish([todo(), { kind: 'resource_updated', uri: 'note://x' }]))).toBe(
      first + 2,
    );
    expect(await stream.message()).toBe(updated('1', 'note://todo'));
    expect(await stream.message()).toBe(updated('1', 'note://x'));
  });

  test('changes the list of event types for streams in another isolate', async () => {
    const stream = await listen(`${workerd.edges[1]}/mcp`, { eventsListChanged: true });
    onTestFinished(() => stream.drop());
    expect(await stream.message()).toBe(acknowledged('1', { eventsListChanged: true }));
    await positionOf(publish({ kind: 'events_list_changed' }));
    expect(await stream.message()).toBe(listChanged('1', 'events'));
  });

  test('refuses a publisher without the secret', async () => {
    expect((await publish(todo(), { 'content-type': 'application/json' })).status).toBe(401);
  });
});

describe('GET /stats', () => {
  test('shows the counts of the isolate and of the bus to a caller with the token of operators', async () => {
    expect((await fetch(`${origin}/stats`)).status).toBe(401);
    const [here, there] = [await statsOf(origin), await statsOf(workerd.edges[1] ?? '')];
    expect(here).toMatchObject({
      streams: { open: 0, collapsed: 0, resyncs: 0 },
      bus: { dropped: 0 },
    });
    expect(here.isolate).not.toBe(there.isolate);
    expect((await statsOf(origin)).isolate).toBe(here.isolate);
  });

  test('names the list of event types by its kind, among the topics and in the log', async () => {
    const stream = await listen(`${workerd.edges[1]}/mcp`, { eventsListChanged: true });
    onTestFinished(() => stream.drop());
    await stream.message();
    const event = { kind: 'events_list_changed' };
    const after = await positionOf(publish([event, { kind: 'for_group', group: 'us', event }]));
    const headers = OPERATOR_BEARER;
    const response = await fetch(`${origin}/stats?after=${after - 2}`, { headers });
    const { log, topics } = (await response.json()) as Snapshot;
    expect(log.map(({ event }) => event)).toEqual([event, { kind: 'for_group', event }]);
    expect(topics).toContainEqual({ topic: 'events', streams: expect.any(Number) });
    expect(topics.map(({ topic }) => topic)).not.toContainEqual(
      expect.stringMatching('mcp-event:'),
    );
  });

  test('is public with STATS_OPEN', async () => {
    const open = await startWorkerd({ bundle: workerBundle, edges: 1, text: { STATS_OPEN: 'on' } });
    onTestFinished(() => open.stop());
    expect((await fetch(`${open.edges[0]}/stats`)).status).toBe(200);
  });
});

describe('GET /metrics', () => {
  test('shows the metrics of the isolate and of the bus to a caller with the token', async () => {
    const stream = await listen(`${origin}/mcp`, { resourceSubscriptions: ['note://metered'] });
    onTestFinished(() => stream.drop());
    await stream.message();
    for (const headers of [{}, BEARER])
      expect((await fetch(`${origin}/metrics`, { headers })).status).toBe(401);
    const response = await fetch(`${origin}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    const text = await response.text();
    expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([
      200,
      'text/plain',
    ]);
    const families = new Map(parse(text).map(({ metrics, name }) => [name, metrics]));
    expect(Number(families.get('mcp_listen_streams_open')?.[0]?.value)).toBeGreaterThan(0);
    expect(families.get('mcp_listen_bus_events_total')).toHaveLength(1);
    expect(text).not.toContain('note:');
  });

  test('does not exist without METRICS_TOKEN', async () => {
    const without = await startWorkerd({ bundle: workerBundle, edges: 1 });
    onTestFinished(() => without.stop());
    const headers = { authorization: 'Bearer ' };
    expect((await fetch(`${without.edges[0]}/metrics`, { headers })).status).toBe(404);
  });
});

describe('the console', () => {
  test('has a script, a style and a core, each named by its content', async () => {
    const html = await (await fetch(origin)).text();
    const script = await fetchCached(html.match(/console-[\w-]{8}\.js/)?.[0]);
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(
      (await fetchCached(html.match(/index-[\w-]{8}\.css/)?.[0])).headers.get('content-type'),
    ).toContain('text/css');
    const client = await fetchCached((await script.text()).match(/client-[\w-]{8}\.js/)?.[0]);
    const core = await fetchCached((await client.text()).match(/\w+-[\w-]{8}\.wasm/)?.[0]);
    expect(core.headers.get('content-type')).toBe('application/wasm');
    expect(WebAssembly.validate(await core.arrayBuffer())).toBe(true);
  });

  test('may run only its own script, and may not be framed', async () => {
    const policy = (await fetch(origin)).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';");
    expect(policy).toContain("frame-ancestors 'none'");
  });
});

/** Fetches a path of the console, and checks that it may be cached. */
async function fetchCached(path: string | undefined): Promise<Response> {
  const response = await fetch(new URL(path ?? '/missing', origin));
  expect([response.status, response.headers.get('cache-control')]).toEqual([
    200,
    'public, max-age=31536000, immutable',
  ]);
  return response;
}

function publish(body: unknown, headers: Record<string, string> = BEARER): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${origin}/publish`, { method: 'POST', headers, body: text });
}

async function positionOf(published: Promise<Response>): Promise<number> {
  const response = await published;
  expect(response.status).toBe(200);
  return ((await response.json()) as { position: number }).position;
}

async function statsOf(edge: string) {
  return (await (await fetch(`${edge}/stats`, { headers: OPERATOR_BEARER })).json()) as {
    isolate: string;
  };
}

function todo() {
  return { kind: 'resource_updated', uri: 'note://todo' };
}

const METRICS_TOKEN = 'a-token-for-metrics';
