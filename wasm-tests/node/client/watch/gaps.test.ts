import { type WatchOptions, watch } from 'mcp-listen/client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { hostile, type Turn } from '../../../host/servers/hostile.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const FILTER = { toolsListChanged: true };

/** Watches a server that plays `mode`; returns the times of requests, and a count of reads. */
async function watching(mode: (turn: Turn) => unknown, options: WatchOptions = {}) {
  const times: number[] = [];
  const server = await hostile((turn) => {
    times.push(performance.now());
    return mode(turn);
  });
  onTestFinished(() => server.stop());
  let reads = 0;
  const handler = () => {
    reads += 1;
  };
  const watched = watch(server.url, FILTER, handler, { revision: '2026-07-28', ...options });
  onTestFinished(() => watched.close());
  return { watched, times, reads: () => reads };
}

test('a watch opens again after a drop, and reads again', async () => {
  const { watched, reads } = await watching((turn) => {
    turn.begin().acknowledge();
    if (turn.before === 0) setTimeout(() => turn.drop(), 50);
  });
  await expect.poll(() => watched.reconnects).toBe(1);
  expect(watched.state).toBe('live');
  expect(watched.error).toBeUndefined();
  expect(reads()).toBe(2);
});

test('a watch waits for the Retry-After of its server', async () => {
  const { watched, times } = await watching((turn) => {
    if (turn.before === 0) turn.refuse(429, { 'retry-after': '1' });
    else turn.begin().acknowledge();
  });
  await expect.poll(() => watched.state).toBe('waiting');
  expect(watched.error).toMatchObject({ status: 429, retryAfterMs: 1_000 });
  await expect.poll(() => watched.state).toBe('live');
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
});

test('a watch retries when the network is back, but not before Retry-After', async () => {
  const listeners = new Set<() => void>();
  vi.stubGlobal('addEventListener', (_: string, listener: () => void) => listeners.add(listener));
  vi.stubGlobal('removeEventListener', (_: string, listener: () => void) =>
    listeners.delete(listener),
  );
  const online = () => {
    for (const listener of listeners) listener();
  };
  let tries = 0;
  const gone = () => {
    tries += 1;
    return Promise.reject(new TypeError('offline'));
  };
  const watched = watch('http://nowhere.test/mcp', FILTER, () => {}, {
    revision: '2026-07-28',
    fetch: gone,
  });
  for (let count = 0; count < 12; count += 1) {
    await expect.poll(() => watched.state).toBe('waiting');
    online();
  }
  expect(tries).toBeGreaterThanOrEqual(12);
  await watched.close();
  expect(listeners.size).toBe(0);
  const patient = await watching((turn) => turn.refuse(503, { 'retry-after': '600' }));
  await expect.poll(() => patient.watched.state).toBe('waiting');
  online();
  expect(patient.watched.state).toBe('waiting');
});

test('a watch opens again after its machine has slept', { timeout: 30_000 }, async () => {
  const { watched } = await watching((turn) => turn.begin().acknowledge());
  await expect.poll(() => watched.state).toBe('live');
  const now = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
  await expect.poll(() => watched.reconnects, { timeout: 20_000 }).toBe(1);
});
