import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NEXT_SECRET } from '../../host/webhook.ts';
import { AiSdkClient } from '../clients/ai-sdk.ts';
import { type EventsServer, onNode, onPython, onWorkerd } from '../servers/events.ts';

const HOSTS: [string, () => Promise<EventsServer>][] = [
  ['Node, from a bus in memory', onNode],
  ['workerd, from separate objects', onWorkerd],
  ['the Python SDK, by mcp-webhook-events', onPython],
];

describe.each(HOSTS)('the client of the AI SDK receives events of a server on %s', (_, start) => {
  let server: EventsServer;
  let client: AiSdkClient;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(() => server?.stop());

  beforeEach(async () => {
    client = await AiSdkClient.connect(server.url, 'ada');
  });

  afterEach(() => client?.close());

  test('it finds the type and its modes', async () => {
    const { events } = await client.events.list({});
    const noted = { name: 'noted', delivery: expect.arrayContaining(['webhook']) };
    expect(events).toContainEqual(expect.objectContaining(noted));
  });

  test('it consents, and is given what matches, once', async () => {
    const { id, truncated } = await client.subscribe('mail');
    expect([id, truncated]).toEqual([expect.stringMatching(/^sub_/), false]);
    await server.publish('other', 'a1');
    await server.publish('mail', 'a2');
    await expect.poll(() => client.received, WAIT).toEqual(['a2']);
  });

  test('an event that its handler refuses comes again', async () => {
    await client.subscribe('again');
    client.isFailing = true;
    await server.publish('again', 'b1');
    await expect.poll(() => client.refused, WAIT).toEqual(['b1']);
    await expect.poll(() => client.statuses.at(-1), WAIT).toBe(503);
    expect(client.received).toEqual([]);
    client.isFailing = false;
    await expect.poll(() => client.received, WAIT).toEqual(['b1']);
    expect(client.refused).toEqual(['b1']);
  });

  test('a renewal with another secret is signed so that it verifies', async () => {
    const { id } = await client.subscribe('renewed');
    await client.rows.replaceSecret(NEXT_SECRET);
    expect(await client.events.refresh({ id })).toMatchObject({ id, truncated: false });
    await server.publish('renewed', 'c1');
    await expect.poll(() => client.received, WAIT).toEqual(['c1']);
  });

  test('unsubscribing ends it, and a second time changes nothing', async () => {
    const { id } = await client.subscribe('over');
    const row = client.rows.only();
    await client.events.unsubscribe({ id });
    await client.rows.set(row);
    await client.events.unsubscribe({ id });
    // The webhook would accept it: the client knows the subscription still.
    await client.rows.set(row);
    await server.publish('over', 'd1');
    await setTimeout(3_000);
    expect([client.received, client.refused]).toEqual([[], []]);
    await client.rows.delete(row.key);
    await client.subscribe('over');
    await server.publish('over', 'd2');
    await expect.poll(() => client.received, WAIT).toEqual(['d2']);
  });

  // docs/verification.md says what mcp-webhook-events does not have.
  if (start === onPython) return;

  test('it receives a gap where the log has lost something while it was slow', async () => {
    const ids = await publishedToSlow(client, server);
    await expect.poll(() => client.gaps.length, WAIT).toBeGreaterThan(0);
    expect(client.received.length).toBeLessThan(ids.length);
    expect(new Set(client.received).size).toBe(client.received.length);
  });

  test('a caller that is disconnected learns that its subscription has ended', async () => {
    const { id } = await client.subscribe('ended');
    await server.disconnect('ada');
    await expect.poll(() => client.ends, WAIT).toEqual([-32_012]);
    expect(await client.rows.getById(id)).toBeUndefined();
  });
});

/**
 * Publishes more than the log and the pages that its readers keep (4 MB) while a client handles
 * nothing, and waits for the rest. Returns the ids of what it published.
 */
async function publishedToSlow(client: AiSdkClient, server: EventsServer) {
  const ids = Array.from({ length: 50 }, (_, index) => `e${index}`);
  await client.subscribe('slow');
  const resume = client.pause();
  for (const id of ids) await server.publish('slow', id, 'x'.repeat(120_000));
  resume();
  await expect.poll(() => client.received, WAIT).toContain(ids.at(-1));
  return ids;
}

const WAIT = { timeout: 20_000, interval: 50 };
