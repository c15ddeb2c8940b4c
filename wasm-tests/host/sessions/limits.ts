import type { ListenLimits } from 'mcp-listen';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { initialize, LegacySession, post, type Send } from '../legacy.ts';
import type { WireStream } from '../listen.ts';

/** Who asks, and from where. */
export interface Who {
  /** As `principal` names the caller: the field `X-User`. */
  user?: string;
  /** Where the network of the host says that it is. */
  address?: string;
  /** Where the client itself says that it is. */
  claimed?: string;
}

/** Sends requests of a caller to a server with these limits, in front of one store of sessions. */
export type Serve = (limits: ListenLimits, who: Who) => Send;

/**
 * Holds a store of sessions to what it promises about callers and how much they take; each test
 * leaves it empty.
 */
export function testSessionLimits(serve: Serve): void {
  const rig = new Rig(serve);
  afterEach(() => rig.clear());
  describe('one caller', () => testCaller(rig));
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

  async begin(limits: ListenLimits, who: Who): Promise<LegacySession> {
    const session = await LegacySession.initialize(this.#serve(limits, who));
    this.#begun.push(session);
    return session;
  }

  async many(count: number, limits: ListenLimits, who: Who): Promise<LegacySession[]> {
    const sessions: LegacySession[] = [];
    for (let number = 0; number < count; number += 1) sessions.push(await this.begin(limits, who));
    return sessions;
  }

  async refuses(limits: ListenLimits, who: Who): Promise<void> {
    const response = await post(this.#serve(limits, who), initialize('2025-11-25'));
    expect([response.status, response.headers.get('retry-after')]).toEqual([
      503,
      expect.any(String),
    ]);
    expect(response.headers.get('mcp-session-id')).toBeNull();
  }

  /** The session, as another caller uses it. */
  via(session: LegacySession, limits: ListenLimits, who: Who): LegacySession {
    return session.via(this.#serve(limits, who));
  }

  async clear(): Promise<void> {
    for (const session of this.#begun.splice(0)) await session.end();
  }
}

function testCaller(rig: Rig): void {
  test('has sixteen sessions, and none of another one ends for its next', async () => {
    const anns = await rig.begin({}, ANN);
    const bobs = await rig.many(40, {}, BOB);
    expect(await alive(bobs)).toEqual([...Array(24).fill(false), ...Array(16).fill(true)]);
    expect(await alive([anns])).toEqual([true]);
  });

  test('loses the session that it used least recently', async () => {
    const limits = { sessionsPerPrincipal: 3 };
    const sessions = await rig.many(3, limits, ANN);
    await sessions[0]?.post(PING);
    sessions.push(await rig.begin(limits, ANN));
    expect(await alive(sessions)).toEqual([true, false, true, true]);
  });

  test('keeps those that have a stream, unless all have one', async () => {
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

  test('has none where none is allowed', async () => {
    await rig.refuses({ sessionsPerPrincipal: 0 }, ANN);
    await rig.refuses({ sessionsPerPrincipal: 0 }, HERE);
    expect(await alive([await rig.begin({ sessionsPerPrincipal: 0 }, {})])).toEqual([true]);
  });
}

function testUnnamed(rig: Rig): void {
  test('are counted by the address that the host tells, and found from any other', async () => {
    const limits = { sessionsPerPrincipal: 2 };
    const there = await rig.begin(limits, THERE);
    const here = await rig.many(3, limits, HERE);
    expect(await alive(here)).toEqual([false, true, true]);
    expect(await alive([rig.via(there, limits, HERE)])).toEqual([true]);
  });

  test.each([
    ['one that the host tells nothing about', () => ({})],
    ['one that makes its address up', (number: number) => ({ claimed: `203.0.113.${number}` })],
    ['one at many addresses', (number: number) => ({ address: `203.0.113.${number}` })],
  ])('take at most half of the room: %s', async (_name, who) => {
    const limits = { sessions: 6, sessionsPerPrincipal: 5 };
    const anns = await rig.begin(limits, ANN);
    const sessions = [
      await rig.begin(limits, who(1)),
      await rig.begin(limits, who(2)),
      await rig.begin(limits, who(3)),
    ];
    await rig.refuses(limits, who(4));
    await rig.many(2, limits, BOB);
    expect(await alive([anns, ...sessions])).toEqual([true, true, true, true]);
    await rig.refuses(limits, { user: 'eve' });
  });

  test('give their room back when their sessions end', async () => {
    const limits = { sessions: 2 };
    const first = await rig.begin(limits, {});
    await rig.refuses(limits, {});
    expect((await first.end()).status).toBe(200);
    expect(await alive([await rig.begin(limits, {})])).toEqual([true]);
  });
}

function testUris(rig: Rig): void {
  // 36 bytes, the half of them characters of two, and 64 for each.
  const uri = (name: string): string => `${name.padEnd(20, 'x')}${'ä'.repeat(8)}`;
  const limits = { sessionUriBytes: 200 };

  test('are bounded in bytes, and give their room back', async () => {
    const session = await rig.begin(limits, ANN);
    for (const name of ['a', 'b', 'a'])
      expect(await watch(session, uri(name))).toEqual({ result: {} });
    expect(await watch(session, uri('c'))).toEqual({ error: tooMany(200) });
    expect(await watch(session, 'c')).toEqual({ error: tooMany(200) });
    for (const name of ['b', 'z']) await session.ask('resources/unsubscribe', { uri: uri(name) });
    expect(await watch(session, uri('c'))).toEqual({ result: {} });
    expect(await watch(session, uri('b'))).toEqual({ error: tooMany(200) });
  });

  test('of all sessions together are bounded, and of callers without a name by half of that', async () => {
    const bound = { busUriBytes: 400 };
    const [anns, bobs, nobodys] = [
      await rig.begin(bound, ANN),
      await rig.begin(bound, BOB),
      await rig.begin(bound, {}),
    ];
    for (const name of ['a', 'b']) expect(await watch(nobodys, uri(name))).toEqual({ result: {} });
    expect(await watch(nobodys, uri('c'))).toEqual({ error: tooMany(200) });
    expect(await watch(anns, uri('a'))).toEqual({ result: {} });
    expect(await watch(bobs, uri('a'))).toEqual({ result: {} });
    expect(await watch(anns, uri('b'))).toEqual({ error: tooMany(400) });
    expect((await bobs.end()).status).toBe(200);
    expect(await watch(anns, uri('b'))).toEqual({ result: {} });
  });

  test('are as many bytes as a listen may have, where no limit is given', async () => {
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
    ...answer
  } = (await session.ask('resources/subscribe', { uri })) as Watching;
  return answer;
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
