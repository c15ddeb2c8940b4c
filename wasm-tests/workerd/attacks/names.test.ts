import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LegacySession } from '../../host/legacy.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { GuardedServer } from '../../host/servers/guarded.ts';

const KEY = { 'x-api-key': 'bob' };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('a caller who sends made-up tokens beside its API key', () => {
  /** The server reads the key, and ignores the token beside it. */
  const behind = new GuardedServer({ bob: {} });
  let gateway: GatewayFixture;
  const madeUp = (count: number) => ({ ...KEY, authorization: `Bearer junk-${count}` });

  beforeAll(async () => {
    const text = { UPSTREAM_WATCH: 'off', CREDENTIAL_HEADERS: 'X-API-Key' };
    gateway = await GatewayFixture.start(await behind.start(), text);
  });
  afterAll(async () => {
    await gateway?.stop();
    behind.stop();
  });

  test('has as many streams as one caller', async () => {
    const statuses = [];
    for (let count = 0; count < 20; count += 1) {
      const init = { headers: madeUp(count) };
      const { response } = await gateway.subscribe({ toolsListChanged: true }, init);
      statuses.push(response.status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(16);
    expect(statuses.slice(16)).toEqual([429, 429, 429, 429]);
  });

  test('has as many sessions as one caller', async () => {
    const sessions: LegacySession[] = [];
    for (let count = 0; count < 20; count += 1)
      sessions.push(await LegacySession.begin(gateway.via(), madeUp(count)));
    const pings = await Promise.all(sessions.map((session) => session.post(PING, KEY)));
    expect(pings.filter(({ ok }) => ok)).toHaveLength(16);
  });
});
