import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { SECRET, signedFields } from '../../../host/signing.ts';

const fixture = useFixture();
const BODY = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
const BEARER = { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` };
const WRONG = { ...BEARER, authorization: 'Bearer not-the-secret-of-it' };
let sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

function forged(): Record<string, string> {
  return signedFields({ body: BODY, secret: 'not-the-secret-of-it' });
}

async function post(headers: Record<string, string>): Promise<number> {
  const { status } = await fixture().request(0, '/endpoint', {
    method: 'POST',
    headers,
    body: BODY,
  });
  return status;
}

/** Posts a request whose body never comes; resolves with the status of its answer. */
async function stalled(headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(fixture().mcp(0));
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  const fields = Object.entries({
    host: hostname,
    'content-length': String(BODY.length),
    ...headers,
  });
  const lines = fields.map((field) => field.join(': ')).join('\r\n');
  socket.write(`POST /endpoint HTTP/1.1\r\n${lines}\r\n\r\n`);
  const [head] = (await once(socket, 'data', { signal: AbortSignal.timeout(8_000) })) as [Buffer];
  return Number(/^HTTP\/1.1 (\d+)/.exec(head.toString())?.[1]);
}

async function counted(answers: Promise<number>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const status of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function many(count: number, send: () => Promise<number>): Promise<number>[] {
  return Array.from({ length: count }, send);
}

describe('where the host tells no address', () => {
  test.each([
    ['wrong bearers', WRONG],
    ['wrong signatures', forged()],
  ])('40 %s do not lock out a publisher', async (what, headers) => {
    for (let turn = 0; turn < 40; turn += 1) expect([401, 429]).toContain(await post(headers));
    expect(await post(BEARER)).toBe(200);
    expect(await post(signedFields({ body: BODY, key: what.replace(' ', '-') }))).toBe(200);
  });

  test('of 100 signed bodies that never come 16 are waited for, and a bearer is served meanwhile', async () => {
    const answers = many(100, () => stalled(forged()));
    await Promise.any(answers);
    expect(await post(BEARER)).toBe(200);
    expect(await counted(answers)).toEqual({ 503: 84, 408: 16 });
    expect(await post(signedFields({ body: BODY, key: 'after-a-flood' }))).toBe(200);
  });

  test('bodies whose senders leave make room', async () => {
    const answers = many(20, () => stalled(forged()));
    for (const answer of answers) answer.catch(() => {});
    expect(await Promise.any(answers)).toBe(503);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => post(signedFields({ body: BODY })), { timeout: 5_000 }).toBe(200);
  });
});

describe('at an address', () => {
  test('a right bearer is served after failures, and a signature is not', async () => {
    const at = { 'x-address': '192.0.2.20' };
    for (let turn = 0; turn < 30; turn += 1) expect(await post({ ...forged(), ...at })).toBe(401);
    expect(await post({ ...WRONG, ...at })).toBe(429);
    expect(await post({ ...BEARER, ...at })).toBe(200);
    expect(await post({ ...signedFields({ body: BODY }), ...at })).toBe(429);
    expect(
      await post({ ...signedFields({ body: BODY, key: 'elsewhere' }), 'x-address': '192.0.2.21' }),
    ).toBe(200);
  });

  test('a signed body counts as a failure before it comes', async () => {
    const headers = { ...forged(), 'x-address': '192.0.2.30' };
    for (let turn = 0; turn < 20; turn += 1) await post(headers);
    expect(await counted(many(15, () => stalled(headers)))).toEqual({ 408: 10, 429: 5 });
  });

  test('bodies that never come leave room for those of other addresses', async () => {
    const answers = many(20, () => stalled({ ...forged(), 'x-address': '192.0.2.50' }));
    expect(await Promise.any(answers)).toBe(503);
    expect(
      await post({ ...signedFields({ body: BODY, key: 'next-door' }), 'x-address': '192.0.2.51' }),
    ).toBe(200);
    expect(await counted(answers)).toEqual({ 503: 4, 408: 16 });
  });

  test('a signed publish that is right does not count', async () => {
    const send = (turn: number) =>
      post({ ...signedFields({ body: BODY, key: `k${turn}` }), 'x-address': '192.0.2.40' });
    for (let turn = 0; turn < 40; turn += 1) expect(await send(turn)).toBe(200);
  });
});
