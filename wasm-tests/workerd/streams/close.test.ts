import { describe, expect, test } from 'vitest';
import { connectTo, listens, resetsInTheResult } from '../../faults/clients/misbehaving.ts';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, LISTEN_HEADERS, listChanged, listenBody } from '../../host/listen.ts';

/** Clients that leave during the result. */
const CLIENTS = 200;
const LISTS = { toolsListChanged: true, promptsListChanged: true };

describe.each(['each', 'shared', 'auto'])('with sockets: %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS });

  // A closed server stays closed, so each test closes that of another edge.
  test('a reader that begins after close gets the earlier events, and the result', async () => {
    const late = Array.from({ length: 3 }, (_, place) => readLate(`${place}`));
    await expect.poll(() => fixture().stats(0)).toMatchObject({ open: 3 });
    await fixture().publish(1, { kind: 'tools_list_changed' });
    const closed = await fixture().post(0, '/close');
    expect(closed.status).toBe(200);
    expect(await fixture().stats(0)).toMatchObject({ open: 0, ended: { closed: 3, aborted: 0 } });
    for (const [place, messages] of (await Promise.all(late)).entries()) {
      expect(messages[0]).toBe(acknowledged(`${place}`, LISTS));
      expect(messages).toContain(listChanged(`${place}`, 'tools'));
      expect(messages.at(-1)).toContain('"resultType":"complete"');
    }
    await fixture().untilAttached(0);
  });

  test('clients that reset their connection during the result leave nothing behind', async () => {
    const origin = fixture().urlOf(1, '/');
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, () => connectTo(origin, LISTS, listens)),
    );
    expect(await fixture().stats(1)).toMatchObject({ open: CLIENTS });
    const closing = fixture().post(1, '/close');
    // Half of them leave while the server asks the bus for its last events.
    for (const [place, client] of clients.entries())
      if (place % 2 === 0) setTimeout(() => client.resetAndDestroy(), place / 10);
      else void resetsInTheResult(client);
    expect((await closing).status).toBe(200);
    await expect.poll(() => clients.every(({ closed }) => closed)).toBe(true);
    await fixture().untilAttached(0);
    const { ended, open } = await fixture().stats(1);
    expect(open).toBe(0);
    expect(ended.closed + ended.left).toBe(CLIENTS);
    expect(await fixture().publish(1, { kind: 'tools_list_changed' })).toBe(200);
  });

  async function readLate(id: string): Promise<string[]> {
    const url = new URL('/late', fixture().mcp(0));
    const response = await fetch(url, {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: listenBody(LISTS, id),
    });
    const text = await response.text();
    return [...text.matchAll(/^data: (.*)$/gm)].map(([, message]) => message ?? '');
  }
});
