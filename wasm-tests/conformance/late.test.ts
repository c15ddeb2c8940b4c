import { afterEach, describe, expect, test, vi } from 'vitest';
import { punctual } from './late.ts';
import type { Check, Run } from './suite.ts';

const PASSED: Check = { id: 'ack', name: 'Ack', status: 'SUCCESS' };
const LATE: Check[] = [
  failed('Failed to open or receive frames from the subscriptions/listen stream endpoint'),
  failed('Failed to open stream line or tracking frames are missing completely'),
  failed('Failed to receive progressive stream chunk execution frames from tools/call handler'),
  failed('Logging target endpoint context dropped or failed to yield frame structures'),
  failed('Strict subscription filtering line failed to return communication frames'),
  { ...failed('Mutated the tool list but no notifications/tools/list_changed'), status: 'WARNING' },
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the suite runs again', () => {
  test('where a process waited, and every failure is of a stream that it reads briefly', async () => {
    const { outcome, runs, warnings } = await examined([run(LATE), run(LATE), run([PASSED])]);
    expect(runs).toBe(3);
    expect(outcome).toEqual(run([PASSED]));
    expect(warnings).toEqual([
      expect.stringContaining('attempt 2 of 3'),
      expect.stringContaining('attempt 3 of 3'),
    ]);
    expect(warnings[0]).toContain('waited for a processor for 900 ms. Failed to open or receive');
  });

  test('twice at most', async () => {
    const { outcome, runs } = await examined(Array.from({ length: 4 }, () => run(LATE)));
    expect(runs).toBe(3);
    expect(outcome).toEqual(run(LATE));
  });

  test('whatever the scenarios do that may fail', async () => {
    const unscored = new Map([['tasks', [failed('no tasks')]]]);
    const { runs } = await examined([run(LATE, unscored), run([PASSED])], ['tasks']);
    expect(runs).toBe(2);
  });
});

describe('the suite runs once', () => {
  test.each<[string, Run]>([
    ['where it finds nothing wrong', run([PASSED])],
    ['where no process had to wait for long', { ...run(LATE), waitedMs: 199 }],
    ['where it finds something else wrong too', run([...LATE, failed('a wrong id')])],
    ['where it fails to say what is wrong', run([{ ...PASSED, status: 'FAILURE' }])],
    ['where another scenario fails', run(LATE, new Map([['tools-list', [failed('no tools')]]]))],
  ])('%s', async (_, outcome) => {
    expect(await examined([outcome])).toEqual({ outcome, runs: 1, warnings: [] });
  });
});

function failed(errorMessage: string): Check {
  return { id: 'ack', name: 'Ack', status: 'FAILURE', errorMessage };
}

function run(checks: Check[], others: Run['checks'] = new Map()): Run {
  const all = new Map([['server-stateless', checks], ...others]);
  return { verdict: 'as given', checks: all, waitedMs: 900 };
}

/** The outcome if the suite has these one after the other. */
async function examined(outcomes: Run[], ignored?: string[]) {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const stop = vi.fn(async () => {});
  const serve = async () => ({ url: 'http://127.0.0.1:1', pid: 1, stop });
  const left = [...outcomes];
  const examine = async () => left.shift() ?? run([]);
  const repeats = vi.fn(async () => {});
  const outcome = await punctual(serve, examine, ignored, repeats);
  const runs = outcomes.length - left.length;
  expect(stop).toHaveBeenCalledTimes(runs);
  expect(repeats).toHaveBeenCalledTimes(runs - 1);
  return { outcome, runs, warnings: warn.mock.calls.map(([text]) => String(text)) };
}
