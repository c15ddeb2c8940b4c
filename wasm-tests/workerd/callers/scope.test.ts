import { describe, expect, test } from 'vitest';
import { type Fixture, useFixture } from '../../host/fixture/fixture.ts';
import { fields, LegacySession } from '../../host/legacy.ts';
import { listChanged, type WireStream } from '../../host/listen.ts';

const TOOLS = { toolsListChanged: true };
const CUE = listChanged('1', 'tools');

const CONFIGURATIONS: [name: string, text: Record<string, string>][] = [
  ['one socket for each stream', { SOCKETS: 'each' }],
  ['a shared socket', { SOCKETS: 'auto' }],
  ['shards', { SOCKETS: 'each', EDGES_PER_SHARD: '2' }],
];

describe.each(CONFIGURATIONS)('an event for a group, with %s', (_, text) => {
  const fixture = useFixture(text);
  const open = opener(fixture);

  function publish(group: string): Promise<number> {
    return fixture().publish(1, {
      kind: 'for_group',
      group,
      event: { kind: 'tools_list_changed' },
    });
  }

  test('reaches the callers of the group in every isolate, and no others', async () => {
    const ann = [
      await open(0, 'ann', 'acme'),
      await open(0, 'amy', 'acme'),
      await open(1, 'ann', 'acme'),
    ];
    const ben = await open(0, 'ben', 'bolt', 'both');
    expect(await publish('bolt')).toBe(200);
    expect(await ben.message()).toBe(CUE);
    expect(await publish('acme')).toBe(200);
    for (const stream of ann) expect(await stream.message()).toBe(CUE);
    const principal = { name: 'ben', groups: ['bolt', 'both'] };
    expect(await fixture().ask(0, { principal }, 'stats')).toMatchObject({ notifications: 1 });
    await fixture().publish(1, { kind: 'tools_list_changed' });
    for (const stream of [...ann, ben]) expect(await stream.message()).toBe(CUE);
  });

  test('reaches the sessions of its callers, and no others', async () => {
    const session = async (edge: number, name: string, group: string) => {
      const principal = { name, groups: [group] };
      const begun = await LegacySession.begin((init) =>
        fixture().sendWith(edge, { principal }, init),
      );
      const stream = await begun.open();
      await stream.event();
      return stream;
    };
    const ann = await session(0, 'gus', 'acme');
    const ben = await session(0, 'hal', 'bolt');
    expect(await publish('acme')).toBe(200);
    expect(fields(await ann.event())).toMatchObject({
      data: { method: 'notifications/tools/list_changed' },
    });
    await fixture().publish(1, { kind: 'prompts_list_changed' });
    for (const stream of [ann, ben]) {
      expect(fields(await stream.event())).toMatchObject({
        data: { method: 'notifications/prompts/list_changed' },
      });
      stream.drop();
    }
  });
});

describe.each(CONFIGURATIONS)('a disconnect, with %s', (_, text) => {
  const fixture = useFixture(text);
  const open = opener(fixture);

  test('in one isolate ends the streams of a caller in all isolates', async () => {
    const streams = [await open(0, 'cid'), await open(1, 'cid'), await open(0, 'cid')];
    const other = await open(0, 'dan');
    const begun = performance.now();
    expect(await fixture().publish(1, { kind: 'disconnect', principal: 'cid' })).toBe(200);
    for (const stream of streams) expect(await stream.message()).toBeUndefined();
    // Two seconds are documented; the machine may be slow.
    expect(performance.now() - begun).toBeLessThan(10_000);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await other.message()).toBe(CUE);
  });

  test('while the bus is unavailable ends the streams of the caller when it is back', async () => {
    const stream = await open(0, 'eve');
    const other = await open(0, 'fay');
    await fixture().post(1, '/bus/shut?ms=2000');
    await fixture().post(1, '/bus/reset');
    expect(await fixture().publish(1, { kind: 'disconnect', principal: 'eve' })).toBe(200);
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await other.message()).toBe(CUE);
    expect(await stream.message()).toBeUndefined();
  });
});

/** Opens a stream at an isolate for a caller of these groups. */
function opener(fixture: () => Fixture) {
  return (edge: number, name: string, ...groups: string[]): Promise<WireStream> =>
    fixture().open(edge, TOOLS, { options: { principal: { name, groups } } });
}
