import { afterEach, describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { SECRET, signedFields } from '../../../host/signing.ts';
import { Drip } from '../../../host/wire/drip.ts';

/** Longer than a busy machine takes for a hundred requests. */
const BODY_MS = 6_000;
const fixture = useFixture({ BODY_MS: `${BODY_MS}` });
const BODY = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
const BEARER = { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` };
const WRONG = { ...BEARER, authorization: 'Bearer not-the-secret-of-it' };
const drips: Drip[] = [];

afterEach(dropAll);

function dropAll(): void {
  for (const drip of drips.splice(0)) drip.drop();
}

function forged(): Record<string, string> {
  return signedFields({ body: BODY, secret: 'not-the-secret-of-it' });
}

/** Posts the event; resolves with the status. */
async function post(headers: Record<string, string>): Promise<number> {
  const { status } = await fixture().request(0, '/endpoint', {
    method: 'POST',
    headers,
    body: BODY,
  });
  return status;
}

/** Posts a request without sending its body; resolves with the status. */
async function postStalled(headers: Record<string, string>): Promise<number> {
  const drip = await Drip.begin(fixture().urlOf(0, '/endpoint'), headers, '');
  drips.push(drip);
  return (await drip.status()) ?? 0;
}

/** The number of responses by their status. */
async function countByStatus(statuses: Promise<number>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const status of await Promise.all(statuses)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function many(count: number, send: () => Promise<number>): Promise<number>[] {
  return Array.from({ length: count }, send);
}

describe('without an address from the host', () => {
  test.each([
    ['wrong bearers', WRONG],
    ['wrong signatures', forged()],
  ])('40 %s do not lock out a publisher', async (what, headers) => {
    for (let turn = 0; turn < 40; turn += 1) expect([401, 429]).toContain(await post(headers));
    expect(await post(BEARER)).toBe(200);
    expect(await post(signedFields({ body: BODY, key: what.replace(' ', '-') }))).toBe(200);
  });

  test('16 of 100 requests without their signed body may wait, and a bearer is served meanwhile', async () => {
    const statuses = many(100, () => postStalled(forged()));
    await Promise.any(statuses);
    expect(await post(BEARER)).toBe(200);
    expect(await countByStatus(statuses)).toEqual({ 503: 84, 408: 16 });
    expect(await post(signedFields({ body: BODY, key: 'after-a-flood' }))).toBe(200);
  });

  test('requests whose clients leave free their places', async () => {
    expect(await Promise.any(many(20, () => postStalled(forged())))).toBe(503);
    dropAll();
    // Otherwise the places expire.
    const polling = { timeout: BODY_MS - 1_000 };
    await expect.poll(() => post(signedFields({ body: BODY })), polling).toBe(200);
  });
});

describe('with an address from the host', () => {
  test('a correct bearer is served after failures, and a signature is not', async () => {
    const at = { 'x-address': '192.0.2.20' };
    for (let turn = 0; turn < 30; turn += 1) expect(await post({ ...forged(), ...at })).toBe(401);
    expect(await post({ ...WRONG, ...at })).toBe(429);
    expect(await post({ ...BEARER, ...at })).toBe(200);
    expect(await post({ ...signedFields({ body: BODY }), ...at })).toBe(429);
    expect(
      await post({ ...signedFields({ body: BODY, key: 'elsewhere' }), 'x-address': '192.0.2.21' }),
    ).toBe(200);
  });

  test('failures of the Workers of one zone do not lock out those of another', async () => {
    const of = (zone: string) => ({ 'x-address': '2a06:98c0:3600::103', 'cf-worker': zone });
    for (let turn = 0; turn < 30; turn += 1) await post({ ...forged(), ...of('a.example') });
    expect(await post({ ...forged(), ...of('a.example') })).toBe(429);
    const signed = signedFields({ body: BODY, key: 'a-neighboring-zone' });
    expect(await post({ ...signed, ...of('b.example') })).toBe(200);
  });

  test('a signed request counts as a failure until its body arrives', async () => {
    const headers = { ...forged(), 'x-address': '192.0.2.30' };
    for (let turn = 0; turn < 20; turn += 1) await post(headers);
    expect(await countByStatus(many(15, () => postStalled(headers)))).toEqual({ 408: 10, 429: 5 });
  });

  test('requests without their body leave places for other addresses', async () => {
    const statuses = many(20, () => postStalled({ ...forged(), 'x-address': '192.0.2.50' }));
    expect(await Promise.any(statuses)).toBe(503);
    expect(
      await post({ ...signedFields({ body: BODY, key: 'neighbor' }), 'x-address': '192.0.2.51' }),
    ).toBe(200);
    expect(await countByStatus(statuses)).toEqual({ 503: 4, 408: 16 });
  });

  test('a correct signed publish does not count as a failure', async () => {
    const send = (turn: number) =>
      post({ ...signedFields({ body: BODY, key: `k${turn}` }), 'x-address': '192.0.2.40' });
    for (let turn = 0; turn < 40; turn += 1) expect(await send(turn)).toBe(200);
  });
});
