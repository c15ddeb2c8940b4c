import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool } from '../../host/call.ts';
import { change, nextMessage } from '../../host/legacy.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listenBody,
  updated,
  type WireStream,
} from '../../host/listen.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { WatchedServer } from '../../host/servers/watched.ts';
import { sdkSessions } from '../../host/sessions/sdk.ts';

const A = { resourceSubscriptions: ['note://a'] };

describe('a server of 2026-07-28 behind', () => {
  const behind = new WatchedServer();
  let gateway: GatewayFixture;

  beforeAll(async () => {
    gateway = await GatewayFixture.start(await behind.start());
  });
  afterAll(async () => {
    await gateway?.stop();
    await behind.stop();
  });

  /** Opens a stream, and reads the cues for everything that the watch did not follow before. */
  async function open(filter: object, edge: number, cues: string[]): Promise<WireStream> {
    const stream = await gateway.subscribe(filter, { edge });
    expect(await stream.message()).toBe(acknowledged('1', filter));
    for (const cue of cues) expect(await stream.message()).toBe(cue);
    return stream;
  }

  test('receives requests through the gateway', async () => {
    const { content } = await callTool(gateway.mcp(), 'hello');
    expect(content).toMatchObject([{ text: 'Hello.' }]);
  });

  test('has one listen for the streams of all isolates', async () => {
    const one = await open(A, 0, [updated('1', 'note://a')]);
    const two = await open(A, 1, []);
    expect(behind.listening).toBe(1);
    behind.notify.resourceUpdated('note://a');
    expect(await one.message()).toBe(updated('1', 'note://a'));
    expect(await two.message()).toBe(updated('1', 'note://a'));
  });

  test('gets a larger listen for a new topic, and only that topic is cued', async () => {
    const many = { toolsListChanged: true, resourceSubscriptions: ['note://c'] };
    const one = await open(many, 0, [listChanged('1', 'tools'), updated('1', 'note://c')]);
    const two = await open({ resourceSubscriptions: ['note://b'] }, 1, [updated('1', 'note://b')]);
    behind.notify.resourceUpdated('note://b');
    expect(await two.message()).toBe(updated('1', 'note://b'));
    behind.notify.resourceUpdated('note://c');
    // No cue for the tools, which the watch has followed all the time.
    expect(await one.message()).toBe(updated('1', 'note://c'));
    await expect.poll(() => behind.listening).toBe(1);
  });

  test('gets a new listen after its stream breaks, and resyncs', async () => {
    const stream = await gateway.subscribe({ toolsListChanged: true, ...A });
    await stream.message();
    await expect.poll(() => behind.listening).toBeGreaterThan(0);
    await settle(stream);
    const { listens } = behind;
    behind.isShut = true;
    behind.cut();
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The watch misses this change.
    behind.notify.resourceUpdated('note://a');
    behind.isShut = false;
    expect([await stream.message(), await stream.message()]).toEqual([
      listChanged('1', 'tools'),
      updated('1', 'note://a'),
    ]);
    expect(behind.listens).toBeGreaterThan(listens);
  });

  /** Reads the cues that earlier tests caused, so that the next change comes first. */
  async function settle(stream: WireStream): Promise<void> {
    await gateway.publish({ kind: 'resource_updated', uri: 'note://a' });
    while ((await stream.message()) !== updated('1', 'note://a'));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await gateway.publish([
      { kind: 'resource_updated', uri: 'note://a' },
      { kind: 'tools_list_changed' },
    ]);
    while ((await stream.message()) !== listChanged('1', 'tools'));
  }
});

test('the watch of a server ends with the last stream of the gateway', async () => {
  const behind = new WatchedServer();
  const gateway = await GatewayFixture.start(await behind.start());
  const client = connect(Number(new URL(gateway.origin()).port), '127.0.0.1');
  const body = listenBody(A);
  const fields = Object.entries({
    ...LISTEN_HEADERS,
    host: '127.0.0.1',
    'content-length': String(body.length),
  });
  client.write(
    `POST /mcp HTTP/1.1\r\n${fields.map((field) => field.join(': ')).join('\r\n')}\r\n\r\n${body}`,
  );
  await expect.poll(() => behind.listening, { timeout: 10_000 }).toBe(1);
  // workerd notices at once that a connection was reset.
  client.resetAndDestroy();
  await expect.poll(() => behind.listening, { timeout: 40_000 }).toBe(0);
  expect(behind.listens).toBe(1);
  await gateway.stop();
  await behind.stop();
});

describe('a server of 2025-11-25 with sessions behind', () => {
  let behind: Awaited<ReturnType<typeof sdkSessions>>;
  let gateway: GatewayFixture;

  beforeAll(async () => {
    behind = await sdkSessions();
    gateway = await GatewayFixture.start(behind.url);
  });
  afterAll(async () => {
    await gateway?.stop();
    await behind?.stop();
  });

  test('keeps one session for each session of the gateway', async () => {
    const session = await gateway.session();
    expect(behind.sessions()).toBe(1);
    const response = await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, session.id]);
    expect(await response.text()).toContain('"id":1');
    const init = { method: 'DELETE', headers: { 'mcp-session-id': session.id } };
    expect((await gateway.via({ edge: 1 })(init)).status).toBe(200);
    expect(behind.sessions()).toBe(0);
    expect((await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(404);
  });

  test('ends a session of the gateway by forgetting its own', async () => {
    const session = await gateway.session();
    await behind.forget();
    expect((await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(404);
    expect((await session.get()).status).toBe(404);
  });

  test('has one subscription for all sessions', async () => {
    const sessions = [await gateway.session({ edge: 0 }), await gateway.session({ edge: 1 })];
    for (const session of sessions) await session.ask('resources/subscribe', { uri: 'note://a' });
    const streams = await Promise.all(sessions.map((session) => gateway.open(session)));
    // The watch cues what may have changed before it began.
    for (const stream of streams)
      while (!isDeepStrictEqual(await nextMessage(stream), change('note://a')));
    expect(behind.sessions()).toBe(3);
    await behind.update('note://a');
    for (const stream of streams) expect(await nextMessage(stream)).toEqual(change('note://a'));
  });
});
