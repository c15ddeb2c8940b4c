import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, LISTEN_HEADERS, listChanged, listenBody } from '../../host/listen.ts';

const LISTS = { toolsListChanged: true, promptsListChanged: true };

describe.each(['each', 'shared', 'auto'])('with sockets: %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS });

  // A closed server stays closed, so there is one test.
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
