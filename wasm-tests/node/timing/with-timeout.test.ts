import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withTimeout } from '../../../dist/timing/with-timeout.js';

/** The clock, which a test advances before the timers to make them fire late. */
let now = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lets `ms` milliseconds pass, after `stallMs` in which no timer fired. */
async function pass(ms: number, stallMs = 0): Promise<void> {
  now += ms + stallMs;
  await vi.advanceTimersByTimeAsync(ms);
}

/** A call with a limit of a second: how it ended, and how to end its work. */
function called() {
  const work = Promise.withResolvers<string>();
  const outcome = vi.fn();
  void withTimeout(1_000, work.promise, () => new Error('late')).then(outcome, outcome);
  const resolve = async (): Promise<void> => {
    work.resolve('value');
    await vi.advanceTimersByTimeAsync(0);
  };
  return { outcome, resolve };
}

const LATE = [new Error('late')];

describe('a call with a time limit', () => {
  test('is rejected when its time is over, not before', async () => {
    const { outcome } = called();
    await pass(999);
    expect(outcome).not.toHaveBeenCalled();
    await pass(1);
    expect(outcome.mock.calls).toEqual([LATE]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is rejected then if its timer fires a little late', async () => {
    const { outcome } = called();
    await pass(1_000, 100);
    expect(outcome.mock.calls).toEqual([LATE]);
  });

  test('ends with a value that arrives after the process was stalled', async () => {
    const { outcome, resolve } = called();
    await pass(1_000, 400);
    await pass(399);
    expect(outcome).not.toHaveBeenCalled();
    await resolve();
    expect(outcome.mock.calls).toEqual([['value']]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ['as long as the stall', 400, 400],
    ['its limit at most', 3_600_000, 1_000],
  ])('waits again for %s, once', async (_, stallMs, ms) => {
    const { outcome } = called();
    await pass(1_000, stallMs);
    await pass(ms - 1, stallMs);
    expect(outcome).not.toHaveBeenCalled();
    await pass(1, stallMs);
    expect(outcome.mock.calls).toEqual([LATE]);
  });

  test.each([
    ['a value that is there', 'value'],
    ['nothing', undefined],
    ['null', null],
  ])('returns %s without a timer', async (_, value) => {
    const returned = withTimeout(1_000, value, () => new Error('late'));
    expect(vi.getTimerCount()).toBe(0);
    await expect(returned).resolves.toBe(value);
  });

  test('waits for an object with a method then', async () => {
    // biome-ignore lint/suspicious/noThenProperty: functions of the user may return such an object.
    const work = { then: (done: (value: string) => void) => done('value') };
    const returned = withTimeout(1_000, work as Promise<string>, () => new Error('late'));
    await expect(returned).resolves.toBe('value');
  });

  test('is not rejected earlier than its timer fires if the clock stands still', async () => {
    const { outcome } = called();
    await vi.advanceTimersByTimeAsync(999);
    expect(outcome).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome.mock.calls).toEqual([LATE]);
  });
});
