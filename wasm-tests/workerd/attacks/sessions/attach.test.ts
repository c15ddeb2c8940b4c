import type { BusStats } from 'mcp-listen/cloudflare';
import { beforeEach, describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { LegacySession } from '../../../host/legacy.ts';
import { retried } from '../../../host/retried.ts';

const ANN = { 'x-user': 'ann' };
const RELEASED = 4001;

describe.each([
  ['the root', undefined],
  ['a shard', '4'],
])('at %s', (_name, perShard) => {
  const fixture = useFixture(
    perShard === undefined ? {} : { SOCKETS: 'each', EDGES_PER_SHARD: perShard },
  );

  // With these streams, the bus has shards. Streams of sessions have a socket each in any case.
  beforeEach(async () => {
    if (perShard === undefined) return;
    for (let edge = 0; edge < 5; edge += 1)
      await (await fixture().subscribe(edge % 2, { promptsListChanged: true })).message();
    await expect.poll(async () => (await fixture().bus<BusStats>('stats')).sockets).toBe(0);
  });

  test("a stream with a claim that is not the session's is released without an event", async () => {
    const session = await LegacySession.begin(fixture().via(0, ANN));
    const stream = await fixture().openSession(session, 0, undefined, ANN);
    await stream.event();
    for (const claim of ['1 bob', '1', '1 ', '1  ann', '0 ann'].map(
      (rest) => `${session.id} ${rest}`,
    ))
      expect(await attach(claim)).toEqual({ code: RELEASED, frames: [] });
    const own = await LegacySession.begin(fixture().via(0));
    expect(await attach(`${own.id} 1 ann`)).toEqual({ code: RELEASED, frames: [] });
    // The owner's stream stays open, also if another socket attaches for it.
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.event()).toContain('tools/list_changed');
    const { frames } = await attach(`${session.id} 1 ann`);
    expect(frames.join()).toContain('"type":"followed"');
    await fixture().publish(1, { kind: 'tools_list_changed' });
    expect(await stream.event()).toContain('tools/list_changed');
  });

  /** Attaches a socket with this claim; resolves with its frames, up to its end or the response. */
  async function attach(claim: string): Promise<{ code: number; frames: string[] }> {
    const socket = await retried(connect);
    const frames: string[] = [];
    return new Promise((resolve) => {
      socket.addEventListener('close', ({ code }) => resolve({ code, frames }));
      socket.addEventListener('message', ({ data }) => {
        frames.push(data as string);
        if (frames.join().includes('"type":"followed"')) socket.close();
      });
      const follow = { v: 1, type: 'follow', seq: 1, fresh: true, add: ['tools'], joined: [claim] };
      socket.send(JSON.stringify(follow));
    });
  }

  /** Opens a socket to the root, or to a shard with room if the bus has shards. */
  async function connect(): Promise<WebSocket> {
    const { shards } = await fixture().bus<BusStats>('stats');
    const places = perShard === undefined ? [''] : shards.map(({ shard }) => `?shard=${shard}`);
    for (const place of places) {
      const socket = await fixture()
        .rawEdge(0, place)
        .catch(() => undefined);
      if (socket !== undefined) return socket;
    }
    throw new Error('no object of the bus has room');
  }
});
