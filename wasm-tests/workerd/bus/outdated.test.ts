import type { BusStats } from 'mcp-listen/cloudflare';
import { describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { longestWait } from '../../host/processor.ts';

const FILTER = { toolsListChanged: true };
const TOOLS = { kind: 'tools_list_changed' };
/**
 * Milliseconds over which the ends of streams are spread. Two fifths are more than the 1.8 s within
 * which streams with a socket each learn that they are outdated.
 */
const SPREAD_MS = 5_000;
/** The ends of so many streams lie within two fifths of that time in one of 90,000 runs. */
const STREAMS = 16;

describe.each(['auto', 'each'] as const)(
  'streams of an outdated deployment (sockets: %s)',
  (sockets) => {
    const fixture = useFixture({ SOCKETS: sockets, OUTDATED_MS: String(SPREAD_MS) });

    test('end spread over time without a result; new ones open once the bus serves the deployment', async () => {
      const streams = await Promise.all(
        Array.from({ length: STREAMS }, () => fixture().subscribe(0, FILTER)),
      );
      for (const stream of streams) expect(await stream.message()).toBe(acknowledged('1', FILTER));
      const before = await fixture().waits();
      await fixture().post(1, '/bus/outdate?is=true');
      await fixture().post(1, '/bus/reset');
      const began = performance.now();
      const ends: number[] = [];
      const ended = streams.map(async (stream) => {
        expect(await stream.message()).toBeUndefined();
        ends.push(performance.now() - began);
      });
      await Promise.all(ended);
      // Ends that were due while a process had no processor come together.
      const machineMs = longestWait(before, await fixture().waits());
      const spreadMs = Math.max(...ends) - Math.min(...ends) + machineMs;
      expect(spreadMs).toBeGreaterThan(0.4 * SPREAD_MS);
      expect(await fixture().stats(0)).toMatchObject({
        open: 0,
        ended: { outdated: STREAMS, aborted: 0 },
      });
      expect((await fixture().subscribe(0, FILTER)).response.status).toBe(503);
      await fixture().post(1, '/bus/outdate?is=false');
      const next = await fixture().subscribe(0, FILTER);
      expect(await next.message()).toBe(acknowledged('1', FILTER));
      await fixture().publish(1, TOOLS);
      expect(await next.message()).toBe(listChanged('1', 'tools'));
    });

    test('an upgrade without a version, or with an unknown one, makes no edge', async () => {
      await fixture().post(1, '/bus/outdate?is=true');
      const socket = await fixture().rawEdge(0);
      const closed = new Promise<CloseEvent>((resolve) =>
        socket.addEventListener('close', resolve as never),
      );
      expect(await closed).toMatchObject({
        code: 4_026,
        reason: 'wire 1 of deployment unknown, not 3',
      });
      await fixture().post(1, '/bus/outdate?is=false');
      expect(await fixture().bus<BusStats>('stats')).toMatchObject({ sockets: 0, attached: 0 });
    });
  },
);

describe.each([
  ["the id of its Worker's version", { VERSION_ID: '7d9c' }, '7d9c'],
  ['the version of the package', {}, manifest.version],
])('an upgrade names the deployment', (what, bindings, id) => {
  const fixture = useFixture(bindings);

  test(`by ${what}`, async () => {
    const stream = await fixture().subscribe(0, FILTER);
    expect(await stream.message()).toBe(acknowledged('1', FILTER));
    expect(await fixture().bus('deployment')).toBe(id);
  });
});
