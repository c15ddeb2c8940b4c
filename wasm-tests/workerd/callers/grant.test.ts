import type { ListenStats } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LegacySession, listChange } from '../../host/legacy.ts';
import { acknowledged, listChanged, type WireStream } from '../../host/listen.ts';

const TOOLS = { toolsListChanged: true };
const CUE = listChanged('1', 'tools');
/** A grant is old at once, and slow authorizers are given up soon. */
const OPTIONS = {
  asks: true,
  authorizationTtlMs: 1,
  timeouts: { attachMs: 2_000, authorizeMs: 300 },
};

describe.each(['auto', 'each'])('where streams have a socket %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS });
  const stats = () => fixture().ask<ListenStats>(0, OPTIONS, 'stats');

  async function opened(caller: string): Promise<WireStream> {
    const stream = await fixture().subscribeWith(0, OPTIONS, TOOLS, {
      headers: { 'x-user': caller },
    });
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    return stream;
  }

  /** Says in both isolates what a caller may hear from now on. */
  async function allow(caller: string, rights: unknown): Promise<void> {
    for (const edge of [0, 1])
      await fixture().post(edge, `/rights?caller=${caller}`, JSON.stringify(rights));
  }

  test('who may still hear it does, each asked for itself', async () => {
    const streams = [await opened('ann'), await opened('ben'), await opened('cid')];
    for (let count = 0; count < 3; count += 1) {
      await fixture().publish(1, { kind: 'tools_list_changed' });
      for (const stream of streams) expect(await stream.message()).toBe(CUE);
    }
  });

  test.each([
    ['is denied', { denied: 403 }],
    ['may hear less', {}],
    ['is not answered about', 'nothing is said'],
  ])('who %s is told nothing more, and others are', async (_, rights) => {
    const former = (await stats()).ended.denied;
    const others = await opened('dan');
    const stream = await opened('eve');
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

  test('ends where it may not be told any more', async () => {
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
