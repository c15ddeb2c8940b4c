import type { ListenLimits } from 'mcp-listen';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { initialize, LegacySession, post, type Send } from '../legacy.ts';
import type { WireStream } from '../listen.ts';

/** A caller and its address. */
export interface Caller {
  /** The name of the caller, in the field `X-User`. */
  user?: string;
  /** The address according to the network of the host. */
  address?: string;
  /** The address according to the client. */
  claimed?: string;
}

/** Sends requests of a caller to a server with these limits, in front of one store of sessions. */
export type Serve = (limits: ListenLimits, caller: Caller) => Send;

/** Declares tests of the limits of callers on a store of sessions. Each test leaves it empty. */
export function testSessionLimits(serve: Serve): void {
  const rig = new Rig(serve);
  afterEach(() => rig.clear());
  describe('a caller', () => testCaller(rig));
  describe('callers without a name', () => testUnnamed(rig));
  describe('the URIs of a session', () => testUris(rig));
}

/** Begins sessions, and ends them after each test. */
class Rig {
  readonly #serve: Serve;
  readonly #begun: LegacySession[] = [];

  constructor(serve: Serve) {
    this.#serve = serve;
  }

  async begin(limits: ListenLimits, caller: Caller): Promise<LegacySession> {
    const session = await LegacySession.initialize(this.#serve(limits, caller));
    this.#begun.push(session);
    return session;
  }

  async many(count: number, limits: ListenLimits, caller: Caller): Promise<LegacySession[]> {
    const sessions: LegacySession[] = [];
    for (let number = 0; number < count; number += 1)
      sessions.push(await this.begin(limits, caller));
    return sessions;
  }

  async expectRefusal(limits: ListenLimits, caller: Caller): Promise<void> {
    const response = await post(this.#serve(limits, caller), initialize('2025-11-25'));
    expect([response.status, response.headers.get('retry-after')]).toEqual([
      503,
      expect.any(String),
    ]);
    expect(response.headers.get('mcp-session-id')).toBeNull();
  }

  /** The same session, used by another caller. */
  via(session: LegacySession, limits: ListenLimits, caller: Caller): LegacySession {
    return session.via(this.#serve(limits, caller));
  }

  async clear(): Promise<void> {
    for (const session of this.#begun.splice(0)) await session.end();
  }
}

function testCaller(rig: Rig): void {
  test('has at most sixteen sessions, and its next one ends no session of another caller', async () => {
    const anns = await rig.begin({}, ANN);
    const bobs = await rig.many(40, {}, BOB);
    expect(await alive(bobs)).toEqual([...Array(24).fill(false), ...Array(16).fill(true)]);
    expect(await alive([anns])).toEqual([true]);
  });

  test('loses its least recently used session', async () => {
    const limits = { sessionsPerPrincipal: 3 };
    const sessions = await rig.many(3, limits, ANN);
    await sessions[0]?.post(PING);
    sessions.push(await rig.begin(limits, ANN));
    expect(await alive(sessions)).toEqual([true, false, true, true]);
  });

  test('keeps sessions with a stream, unless all of them have one', async () => {
    const limits = { sessionsPerPrincipal: 2 };
    const streaming = await rig.begin(limits, ANN);
    const stream = await open(streaming);
    const [idle, other] = await rig.many(2, limits, ANN);
    expect(await alive([streaming, idle, other])).toEqual([true, false, true]);
    if (other !== undefined) await open(other);
    await streaming.post(PING);
    const next = await rig.begin(limits, ANN);
    expect(await alive([streaming, other, next])).toEqual([true, false, true]);
    await open(next);
    const last = await rig.begin(limits, ANN);
    expect(await alive([streaming, next, last])).toEqual([false, true, true]);
    expect(await stream.event()).toBeUndefined();
  });

  test('has no session if the limit is 0', async () => {
    await rig.expectRefusal({ sessionsPerPrincipal: 0 }, ANN);
    await rig.expectRefusal({ sessionsPerPrincipal: 0 }, HERE);
    expect(await alive([await rig.begin({ sessionsPerPrincipal: 0 }, {})])).toEqual([true]);
  });
}

function testUnnamed(rig: Rig): void {
  test('are counted by the address from the host, and may use a session from any address', async () => {
    const limits = { sessionsPerPrincipal: 2 };
    const there = await rig.begin(limits, THERE);
    const here = await rig.many(3, limits, HERE);
    expect(await alive(here)).toEqual([false, true, true]);
    expect(await alive([rig.via(there, limits, HERE)])).toEqual([true]);
  });

  test.each([
    ['without an address from the host', () => ({})],
    ['with an invented address', (number: number) => ({ claimed: `203.0.113.${number}` })],
    ['at many addresses', (number: number) => ({ address: `203.0.113.${number}` })],
  ])('use at most half of the room, %s', async (_name, who) => {
    const limits = { sessions: 6, sessionsPerPrincipal: 5 };
    const anns = await rig.begin(limits, ANN);
    const sessions = [
      await rig.begin(limits, who(1)),
      await rig.begin(limits, who(2)),
      await rig.begin(limits, who(3)),
    ];
    await rig.expectRefusal(limits, who(4));
    await rig.many(2, limits, BOB);
    expect(await alive([anns, ...sessions])).toEqual([true, true, true, true]);
    await rig.expectRefusal(limits, { user: 'eve' });
  });

  test('free their room when their sessions end', async () => {
    const limits = { sessions: 2 };
    const first = await rig.begin(limits, {});
    await rig.expectRefusal(limits, {});
    expect((await first.end()).status).toBe(200);
    expect(await alive([await rig.begin(limits, {})])).toEqual([true]);
  });
}

function testUris(rig: Rig): void {
  // 36 bytes, 16 of them in characters of two bytes, and 64 for each URI.
  const uri = (name: string): string => `${name.padEnd(20, 'x')}${'ä'.repeat(8)}`;
  const limits = { sessionUriBytes: 200 };

  test('are bounded in bytes, and free their room when they are unsubscribed', async () => {
    const session = await rig.begin(limits, ANN);
    for (const name of ['a', 'b', 'a'])
      expect(await watch(session, uri(name))).toEqual({ result: {} });
    expect(await watch(session, uri('c'))).toEqual({ error: tooMany(200) });
    expect(await watch(session, 'c')).toEqual({ error: tooMany(200) });
    for (const name of ['b', 'z']) await session.ask('resources/unsubscribe', { uri: uri(name) });
    expect(await watch(session, uri('c'))).toEqual({ result: {} });
    expect(await watch(session, uri('b'))).toEqual({ error: tooMany(200) });
  });

  test('are bounded over all sessions, and by half of that over callers without a name', async () => {
    const bound = { busUriBytes: 400 };
    const [anns, bobs, unnamed] = [
      await rig.begin(bound, ANN),
      await rig.begin(bound, BOB),
      await rig.begin(bound, {}),
    ];
    for (const name of ['a', 'b']) expect(await watch(unnamed, uri(name))).toEqual({ result: {} });
    expect(await watch(unnamed, uri('c'))).toEqual({ error: tooMany(200) });
    expect(await watch(anns, uri('a'))).toEqual({ result: {} });
    expect(await watch(bobs, uri('a'))).toEqual({ result: {} });
    expect(await watch(anns, uri('b'))).toEqual({ error: tooMany(400) });
    expect((await bobs.end()).status).toBe(200);
    expect(await watch(anns, uri('b'))).toEqual({ result: {} });
  });

  test('have by default as many bytes as a listen may have', async () => {
    const session = await rig.begin({}, ANN);
    const long = (number: number): string => `note://${number}/`.padEnd(2_048 - 64, 'x');
    for (let number = 0; number < 32; number += 1) await watch(session, long(number));
    expect(await watch(session, long(32))).toEqual({ error: tooMany(65_536) });
  });
}

async function alive(sessions: (LegacySession | undefined)[]): Promise<boolean[]> {
  return Promise.all(sessions.map(async (session) => (await session?.post(PING))?.status === 200));
}

async function open(session: LegacySession): Promise<WireStream> {
  const stream = await session.open();
  onTestFinished(() => stream.drop());
  expect(stream.response.status).toBe(200);
  await stream.event();
  return stream;
}

async function watch(session: LegacySession, uri: string): Promise<object> {
  const {
    id: _id,
    jsonrpc: _version,
    ...members
  } = (await session.ask('resources/subscribe', { uri })) as Watching;
  return members;
}

function tooMany(limit: number): unknown {
  return { code: -32_602, message: 'Too many bytes of resource URIs', data: { limit } };
}

interface Watching {
  id?: unknown;
  jsonrpc?: unknown;
}

const ANN = { user: 'ann' };
const BOB = { user: 'bob' };
const HERE = { address: '198.51.100.7' };
const THERE = { address: '2001:db8::7' };
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' };
