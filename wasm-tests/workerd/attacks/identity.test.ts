import type { ListenStats } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LegacySession } from '../../host/legacy.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';

const TOOLS = { toolsListChanged: true };
const PROMPTS = { promptsListChanged: true };
const CUE = listChanged('1', 'tools');
/** Results of `principal` expire at once, and there is no `authorize`. */
const OPTIONS = {
  names: true,
  authorizationTtlMs: 1,
  timeouts: { authorizeMs: 300 },
};

describe.each(['auto', 'each'])('with sockets: %s', (SOCKETS) => {
  const fixture = useFixture({ SOCKETS });
  const stats = () => fixture().ask<ListenStats>(0, OPTIONS, 'stats');

  function open(caller: string, filter: object = TOOLS): Promise<WireStream> {
    return fixture().open(0, filter, { options: OPTIONS, headers: { 'x-user': caller } });
  }

  /** Sets in both isolates what `principal` returns for a caller from now on. */
  async function name(caller: string, result: unknown): Promise<void> {
    for (const edge of [0, 1])
      await fixture().post(edge, `/names?caller=${caller}`, JSON.stringify(result));
  }

  test.each([
    ['is denied', { denied: 401 }],
    ['is someone else', 'mallory'],
    ['is no one', null],
  ])('a caller who %s at the renewal receives nothing more, and others do', async (_, result) => {
    const former = (await stats()).ended.denied;
    const others = await open('dan');
    const stream = await open('eve');
    await name('eve', result);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await others.message()).toBe(CUE);
    expect(await stream.message()).toBeUndefined();
    await expect.poll(async () => (await stats()).ended.denied).toBe(former + 1);
    await name('eve', 'eve');
  });

  test('a caller with a new group receives its events', async () => {
    await name('fay', { name: 'fay', groups: ['acme'] });
    const stream = await open('fay');
    await name('fay', { name: 'fay', groups: ['acme', 'bolt'] });
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.message()).toBe(CUE);
    const event = { kind: 'for_group', group: 'bolt', event: { kind: 'tools_list_changed' } };
    // The bus replays events that are published while the stream attaches again.
    await fixture().publish(1, event);
    expect(await stream.message()).toBe(CUE);
    await name('fay', { name: 'fay', groups: ['acme'] });
    await fixture().publish(1, event);
    expect(await stream.message()).toBeUndefined();
  });

  test('a stream whose caller gets new groups misses nothing', async () => {
    const groups = ['acme'];
    await name('ida', { name: 'ida', groups });
    const stream = await open('ida');
    const others = await open('dan', PROMPTS);
    for (const group of ['bolt', 'both', 'core']) {
      await fixture().publish(1, { kind: 'prompts_list_changed' });
      expect(await others.message()).toBe(listChanged('1', 'prompts'));
      groups.push(group);
      await name('ida', { name: 'ida', groups });
      await fixture().publish(1, { kind: 'tools_list_changed' });
      expect(await stream.message()).toBe(CUE);
      await fixture().publish(1, {
        kind: 'for_group',
        group,
        event: { kind: 'tools_list_changed' },
      });
      expect(await stream.message()).toBe(CUE);
    }
    await name('ida', 'mallory');
    await fixture().publish(1, { kind: 'tools_list_changed' });
    while ((await stream.message()) !== undefined);
    others.drop();
  });
});

describe('the stream of a session', () => {
  const fixture = useFixture();

  test('ends when its caller is denied', async () => {
    const send = (init: RequestInit) => {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), 'x-user': 'gus' };
      return fixture().sendWith(0, OPTIONS, { ...init, headers });
    };
    const session = await LegacySession.begin(send);
    const stream = await session.open();
    await stream.event();
    await fixture().post(0, '/names?caller=gus', JSON.stringify({ denied: 403 }));
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.event()).toBeUndefined();
  });
});
