import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool } from '../../host/call.ts';
import { change, heard } from '../../host/legacy.ts';
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
  let gate: GatewayFixture;

  beforeAll(async () => {
    gate = await GatewayFixture.start(await behind.start());
  });
  afterAll(async () => {
    await gate?.stop();
    await behind.stop();
  });

  /**
   * Opens a stream, and takes what it is told because nobody knows what was missed before the
   * watch.
   */
  async function watching(filter: object, edge: number, cues: string[]): Promise<WireStream> {
    const stream = await gate.subscribe(filter, { edge });
    expect(await stream.message()).toBe(acknowledged('1', filter));
    for (const cue of cues) expect(await stream.message()).toBe(cue);
    return stream;
  }

  test('is asked as it would be without a gateway', async () => {
    const { content } = await callTool(gate.mcp(), 'hello');
    expect(content).toMatchObject([{ text: 'Hello.' }]);
  });

  test('is listened to once for all, whatever isolate they are in', async () => {
    const one = await watching(A, 0, [updated('1', 'note://a')]);
    const two = await watching(A, 1, []);
    expect(behind.listening).toBe(1);
    behind.notify.resourceUpdated('note://a');
    expect(await one.message()).toBe(updated('1', 'note://a'));
    expect(await two.message()).toBe(updated('1', 'note://a'));
  });

  test('is listened to for more when more is wanted, and only what is new is cued', async () => {
    const many = { toolsListChanged: true, resourceSubscriptions: ['note://c'] };
    const one = await watching(many, 0, [listChanged('1', 'tools'), updated('1', 'note://c')]);
    const two = await watching({ resourceSubscriptions: ['note://b'] }, 1, [
      updated('1', 'note://b'),
    ]);
    behind.notify.resourceUpdated('note://b');
    expect(await two.message()).toBe(updated('1', 'note://b'));
    behind.notify.resourceUpdated('note://c');
    // No cue for the tools, which it listened to all the while.
    expect(await one.message()).toBe(updated('1', 'note://c'));
    await expect.poll(() => behind.listening).toBe(1);
  });

  test('that breaks off is listened to again, and all that may have been missed is cued', async () => {
    const stream = await gate.subscribe({ toolsListChanged: true, ...A });
    await stream.message();
    await expect.poll(() => behind.listening).toBeGreaterThan(0);
    await settled(stream);
    const { listens } = behind;
    behind.isShut = true;
    behind.cut();
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Nobody hears of this one.
    behind.notify.resourceUpdated('note://a');
    behind.isShut = false;
    expect([await stream.message(), await stream.message()]).toEqual([
      listChanged('1', 'tools'),
      updated('1', 'note://a'),
    ]);
    expect(behind.listens).toBeGreaterThan(listens);
  });

  /** Takes what a stream was told because of those before it: then a change is told at once. */
  async function settled(stream: WireStream): Promise<void> {
    await gate.publish({ kind: 'resource_updated', uri: 'note://a' });
    while ((await stream.message()) !== updated('1', 'note://a'));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await gate.publish([
      { kind: 'resource_updated', uri: 'note://a' },
      { kind: 'tools_list_changed' },
    ]);
    while ((await stream.message()) !== listChanged('1', 'tools'));
  }
});

test('a server behind is left alone when nobody listens', async () => {
  const behind = new WatchedServer();
  const gate = await GatewayFixture.start(await behind.start());
  const client = connect(Number(new URL(gate.origin()).port), '127.0.0.1');
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
  await gate.stop();
  await behind.stop();
});

describe('a server of 2025-11-25 with sessions behind', () => {
  let behind: Awaited<ReturnType<typeof sdkSessions>>;
  let gate: GatewayFixture;

  beforeAll(async () => {
    behind = await sdkSessions();
    gate = await GatewayFixture.start(behind.url);
  });
  afterAll(async () => {
    await gate?.stop();
    await behind?.stop();
  });

  test('keeps its sessions, each for one of ours', async () => {
    const session = await gate.session();
    expect(behind.sessions()).toBe(1);
    const response = await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, session.id]);
    expect(await response.text()).toContain('"id":1');
    const init = { method: 'DELETE', headers: { 'mcp-session-id': session.id } };
    expect((await gate.via({ edge: 1 })(init)).status).toBe(200);
    expect(behind.sessions()).toBe(0);
    expect((await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(404);
  });

  test('that forgets a session ends it here, too', async () => {
    const session = await gate.session();
    await behind.forget();
    expect((await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(404);
    expect((await session.get()).status).toBe(404);
  });

  test('is subscribed to once for all sessions', async () => {
    const sessions = [await gate.session({ edge: 0 }), await gate.session({ edge: 1 })];
    for (const session of sessions) await session.ask('resources/subscribe', { uri: 'note://a' });
    const streams = await Promise.all(sessions.map((session) => gate.open(session)));
    // Nobody knows what was missed before the watch.
    for (const stream of streams)
      while (!isDeepStrictEqual(await heard(stream), change('note://a')));
    expect(behind.sessions()).toBe(3);
    await behind.update('note://a');
    for (const stream of streams) expect(await heard(stream)).toEqual(change('note://a'));
  });
});
