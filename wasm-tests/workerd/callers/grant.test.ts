import type { ListenStats } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LegacySession, listChange } from '../../host/legacy.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';

const TOOLS = { toolsListChanged: true };
const CUE = listChanged('1', 'tools');
/** Grants expire at once, and the timeout of authorizers is short. */
const OPTIONS = {
  asks: true,
  authorizationTtlMs: 1,
  timeouts: { authorizeMs: 300 },
};

describe.each(['auto', 'each'])('with sockets: %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS });
  const stats = () => fixture().ask<ListenStats>(0, OPTIONS, 'stats');

  function open(caller: string): Promise<WireStream> {
    return fixture().open(0, TOOLS, { options: OPTIONS, headers: { 'x-user': caller } });
  }

  /** Sets in both isolates what a caller may receive from now on. */
  async function allow(caller: string, rights: unknown): Promise<void> {
    for (const edge of [0, 1])
      await fixture().post(edge, `/rights?caller=${caller}`, JSON.stringify(rights));
  }

  test('each caller whose rights are renewed receives further events', async () => {
    const streams = [await open('ann'), await open('ben'), await open('cid')];
    for (let count = 0; count < 3; count += 1) {
      await fixture().publish(1, { kind: 'tools_list_changed' });
      for (const stream of streams) expect(await stream.message()).toBe(CUE);
    }
  });

  test.each([
    ['is denied', { denied: 403 }],
    ['may receive less', {}],
    ['gets no reply', 'no reply'],
  ])('a caller who %s receives nothing more, and others do', async (_, rights) => {
    const former = (await stats()).ended.denied;
    const others = await open('dan');
    const stream = await open('eve');
    await allow('eve', rights);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await others.message()).toBe(CUE);
    expect(await stream.message()).toBeUndefined();
    await expect.poll(async () => (await stats()).ended.denied).toBe(former + 1);
    await allow('eve', TOOLS);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await others.message()).toBe(CUE);
  });
});

describe('the stream of a session', () => {
  const fixture = useFixture();

  test('ends when the rights of its caller end', async () => {
    const send = (init: RequestInit) => fixture().sendWith(0, OPTIONS, init);
    const session = await LegacySession.begin(send);
    const stream = await session.open();
    await stream.event();
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.event()).toContain(JSON.stringify(listChange('tools')));
    await fixture().post(0, '/rights?caller=', JSON.stringify({}));
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.event()).toBeUndefined();
  });
});
