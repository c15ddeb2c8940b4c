import { ListenError, type Watch, watch } from 'mcp-listen/client';
import { expect, onTestFinished, test } from 'vitest';
import { served } from '../serving.ts';

const FILTER = { toolsListChanged: true };

/** Watches of one origin, as tabs have them, and counts of their reads. */
async function tabs(count: number) {
  const host = await served();
  onTestFinished(() => host.stop());
  const reads = Array.from({ length: count }, () => 0);
  const watches = reads.map((_, tab) => {
    const handler = () => {
      reads[tab] = (reads[tab] ?? 0) + 1;
    };
    const watched = watch(host.url, FILTER, handler, { share: true });
    onTestFinished(() => watched.close());
    return watched;
  });
  const states = () => watches.map(({ state }: Watch) => state);
  await expect.poll(states).toEqual(watches.map(() => 'live'));
  return { ...host, reads, watches, states };
}

test('tabs share one stream, and each receives what changes', async () => {
  const { bus, server, reads } = await tabs(3);
  expect(bus.attached).toBe(1);
  const before = [...reads];
  await server.notify.toolsChanged();
  await expect.poll(() => reads).toEqual(before.map((count) => count + 1));
});

test('when the tab that holds the stream closes, another opens it and reads again', async () => {
  const { bus, server, reads, watches } = await tabs(2);
  const before = reads[1] ?? 0;
  await watches[0]?.close();
  await expect.poll(() => reads[1]).toBe(before + 1);
  expect(watches[1]?.state).toBe('live');
  await expect.poll(() => bus.attached).toBe(1);
  await server.notify.toolsChanged();
  await expect.poll(() => reads[1]).toBe(before + 2);
});

test('a later tab causes no other to read again', async () => {
  const { url, reads } = await tabs(2);
  const before = [...reads];
  const late = watch(url, FILTER, () => {}, { share: true });
  onTestFinished(() => late.close());
  await expect.poll(() => late.state).toBe('live');
  expect(reads).toEqual(before);
});

test('a target without a URL needs a name to be shared', () => {
  const start = () =>
    watch(
      () => new Request('http://nowhere.test'),
      FILTER,
      () => {},
      { share: true },
    );
  expect(start).toThrow(ListenError);
});
