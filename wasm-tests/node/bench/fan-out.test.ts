import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { STALL_MS } from '../../../bench/harness/progress.ts';
import { FanOut } from '../../../bench/in-process/fan-out.ts';
import { listenOf, matches, type Scenario } from '../../../bench/in-process/scenario.ts';
import { listenFor, listenRequest, resourceUri } from '../../../bench/requests.ts';
import type { Server } from '../../../bench/servers/server.ts';
import { serverOf } from '../../../bench/servers/servers.ts';

const SCENARIO: Scenario = { streams: 6, ids: 2, uris: 2, matching: 6, events: 4 };

describe('a fan-out', () => {
  test.each(['listen', 'sdk', 'enqueue'] as const)('of %s delivers every frame', async (name) => {
    const fanOut = await FanOut.start(await serverOf(name), SCENARIO);
    const sample = await fanOut.round();
    expect(sample['publish']).toBeGreaterThan(0);
    expect(sample['delivered']).toBeGreaterThanOrEqual(sample['publish'] ?? 0);
    await fanOut.leave();
  });

  test.each(['listen', 'sdk', 'enqueue'] as const)(
    'of %s reaches only the streams that match',
    async (name) => {
      const fanOut = await FanOut.start(await serverOf(name), { ...SCENARIO, matching: 2 });
      await expect(fanOut.round()).resolves.toBeDefined();
      await fanOut.leave();
    },
  );

  test('fails where a stream receives what it does not watch', async () => {
    const { fetch, publish } = await serverOf('enqueue');
    const all = () => fetch(listenRequest(listenFor([resourceUri(0)], '1')));
    const start = FanOut.start({ fetch: all, publish }, { ...SCENARIO, matching: 2 });
    await expect(start).rejects.toThrow('with 6 of 2 frames handed over');
  });

  test('fails where frames are delivered after publish has returned', async () => {
    const { fetch } = await serverOf('enqueue');
    const late: Server = { fetch, publish: () => {} };
    await expect(FanOut.start(late, SCENARIO)).rejects.toThrow('with 0 of 6 frames handed over');
  });

  test('measures until an asynchronous publish resolves', async () => {
    const { fetch, publish } = await serverOf('enqueue');
    const slow = async (uri: string) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      publish(uri);
    };
    const fanOut = await FanOut.start({ fetch, publish: slow }, SCENARIO);
    expect((await fanOut.round())['publish']).toBeGreaterThan(10_000);
  });

  test('fails where a frame arrives twice', async () => {
    const { fetch, publish } = await serverOf('enqueue');
    let published = 0;
    const stuttering = (uri: string) => {
      published += 1;
      publish(uri);
      if (published === 4) publish(uri);
    };
    const fanOut = await FanOut.start({ fetch, publish: stuttering }, SCENARIO);
    await expect(fanOut.round()).rejects.toThrow(/stream 0 got \d+ bytes, not 4 frames/);
  });

  test('fails where a frame does not arrive', async () => {
    const { fetch, publish } = await serverOf('enqueue');
    let published = 0;
    const forgetful = (uri: string) => {
      published += 1;
      return published === 3 ? undefined : publish(uri);
    };
    const fanOut = await FanOut.start({ fetch, publish: forgetful }, SCENARIO);
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const failed = expect(fanOut.round()).rejects.toThrow('6 frames did not arrive');
    await vi.advanceTimersByTimeAsync(STALL_MS);
    await failed;
  });

  test('fails where a frame is of another event', async () => {
    const { fetch, publish } = await serverOf('enqueue');
    let published = 0;
    const confused = (uri: string) => {
      published += 1;
      return publish(published < 3 ? uri : resourceUri(0));
    };
    const fanOut = await FanOut.start({ fetch, publish: confused }, SCENARIO);
    await expect(fanOut.round()).rejects.toThrow('and not with bench://resource/0000001');
  });
});

describe('a scenario', () => {
  test('has the numbers of matching streams, ids and resources that it states', () => {
    const scenario = { streams: 1_000, ids: 7, uris: 3, matching: 10, events: 1 };
    const all = Array.from({ length: scenario.streams }, (_, stream) => stream);
    expect(all.filter((stream) => matches(scenario, stream))).toHaveLength(10);
    const bodies = all.map((stream) => JSON.parse(listenOf(scenario, stream)) as Listen);
    expect(new Set(bodies.map(({ id }) => JSON.stringify(id))).size).toBe(7);
    expect(
      new Set(bodies.flatMap(({ params }) => params.notifications.resourceSubscriptions)).size,
    ).toBe(3 * 991);
  });
});

interface Listen {
  id: unknown;
  params: { notifications: { resourceSubscriptions: string[] } };
}
