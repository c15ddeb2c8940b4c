import { spawn } from 'node:child_process';
import { describe, expect, onTestFinished, test } from 'vitest';
import { argumentsOf } from '../../../bench/harness/arguments.ts';
import { CHECKS, figureOf } from '../../../bench/harness/baseline.ts';
import { compare } from '../../../bench/harness/comparison.ts';
import type { Entrant, Experiment } from '../../../bench/harness/experiment.ts';
import { type Outcome, ratioAt } from '../../../bench/harness/outcome.ts';
import { MAX_LOAD, untilIdle } from '../../../bench/harness/record/idle.ts';
import { merged } from '../../../bench/harness/record/results.ts';
import { exponent, quantile, summaryOf } from '../../../bench/harness/statistics.ts';
import { Progress } from '../../../bench/harness/terminal/progress.ts';
import { processorMs } from '../../../bench/over-http/servers/processor.ts';
import { dense, RATE } from './outcomes.ts';

describe('statistics', () => {
  test('contain the median, the minimum and the maximum', () => {
    expect(summaryOf([5, 1, 3])).toEqual({ median: 3, min: 1, max: 5 });
    expect(summaryOf([4, 2]).median).toBe(3);
    expect(quantile([0, 10], 0.99)).toBeCloseTo(9.9);
  });

  test('find the exponent of a power', () => {
    expect(exponent([1, 10, 100].map((x) => ({ x, y: 7 * x ** 1.5 })))).toBeCloseTo(1.5);
    expect(exponent([1, 10, 100].map((x) => ({ x, y: 7 })))).toBeCloseTo(0);
    expect(exponent([{ x: 0, y: 1 }])).toBeUndefined();
  });
});

describe('a comparison', () => {
  test('interleaves rounds, rotates the first contender, and discards warm-ups', async () => {
    const turns: string[] = [];
    const outcome = await compare(
      experiment([steady('a', 1, turns), steady('b', 2, turns)], { warmUps: 1 }),
      silent(),
    );
    expect(turns).toEqual(['b', 'a', 'a', 'b', 'b', 'a', 'a', 'b']);
    expect(outcome.contenders.map(({ points }) => points[0]?.rounds)).toEqual([
      [{ rate: 1 }, { rate: 1 }, { rate: 1 }],
      [{ rate: 2 }, { rate: 2 }, { rate: 2 }],
    ]);
  });

  test('continues without a contender that fails, and states the reason', async () => {
    const outcome = await compare(experiment([steady('a', 1), failing('b')]), silent());
    expect(outcome.contenders[0]?.points[0]?.rounds).toHaveLength(3);
    expect(outcome.contenders[1]).toMatchObject({ failed: 'a frame is missing' });
    expect(ratioAt(outcome, RATE, 0, ['a', 'b'])).toBeUndefined();
  });

  test('computes ratios per round', async () => {
    const outcome = await compare(
      experiment([varying('a', [2, 20, 6]), varying('b', [1, 10, 2])]),
      silent(),
    );
    expect(ratioAt(outcome, RATE, 0, ['a', 'b'])).toEqual({ median: 2, min: 2, max: 3 });
  });

  test('prints the figures and ratios of the contenders while it runs', async () => {
    const said: string[] = [];
    const progress = new Progress(1, (text) => said.push(text));
    await compare(experiment([steady('a', 30), steady('b', 10), failing('c')]), progress);
    expect(said[1]).toContain('round 1/3: a 30, b 10, c failed');
    expect(said.at(-1)).toMatch(
      /a +30 +30 +30 +frames\/s\n +b +10 +10 +10 +frames\/s +3x +3 +3\n +c +a frame is missing/,
    );
  });
});

describe('a check of the lane', () => {
  const check = {
    name: 'x',
    experiment: 'dense',
    metric: 'rate',
    kind: { to: 'TypeScript SDK' },
    tolerance: 0,
  } as const;

  test('compares the minimum over rounds', () => {
    const outcome = dense(3, 1);
    outcome.contenders[0]?.points[0]?.rounds.push({ rate: 2 }, { rate: 90 });
    expect(figureOf(check, [outcome])).toBe(2);
  });

  test('computes the cost of the largest size relative to the smallest', () => {
    const points = [2, 3, 8].map((rate, x) => ({ x, rounds: [{ rate }] }));
    const curve = { ...dense(1, 1), contenders: [{ name: 'mcp-listen', includes: '', points }] };
    expect(figureOf({ ...check, kind: 'spread' }, [curve])).toBe(4);
  });

  test('compares the minimum over all attempts', () => {
    expect(figureOf(check, [dense(9, 3), dense(3, 2), dense(4, 1)])).toBe(3);
  });

  test('has a tolerance of at most a quarter', () => {
    expect(Math.max(...CHECKS.map(({ tolerance }) => tolerance))).toBeLessThanOrEqual(0.25);
  });

  test('has no figure where nothing was measured', () => {
    expect(figureOf(check, [])).toBeUndefined();
  });
});

describe('a part of a run', () => {
  test('replaces earlier measurements, and keeps the order of all experiments', () => {
    const outcome = (name: string, title: string): Outcome => ({ ...dense(1, 1), name, title });
    const before = [outcome('c', 'before'), outcome('a', 'before'), outcome('gone', 'before')];
    const all = merged(['a', 'b', 'c'], before, [outcome('c', 'now'), outcome('b', 'now')]);
    expect(all.map(({ name, title }) => `${name} ${title}`)).toEqual([
      'a before',
      'b now',
      'c now',
    ]);
  });

  test('is written to bench/, and a quick one is not', () => {
    expect(argumentsOf(['--only', 'S1,S5'])).toMatchObject({
      only: ['S1', 'S5'],
      out: 'bench',
      rest: false,
    });
    expect(argumentsOf(['--quick', '--rest'])).toMatchObject({
      size: 'quick',
      out: '.build/bench',
      rest: true,
    });
  });
});

describe('an experiment', () => {
  const waited = async (loads: number[]) => {
    const said: string[] = [];
    const load = () => (loads.length > 1 ? loads.shift() : loads[0]) ?? 0;
    const seconds = await untilIdle({
      write: (text) => said.push(text),
      load,
      sleep: async () => {},
    });
    return { seconds, said: said.join('') };
  };

  test('begins at once on an idle machine', async () => {
    expect(await waited([MAX_LOAD])).toEqual({ seconds: 0, said: '' });
  });

  test('waits until the load is low enough, and says so', async () => {
    const { seconds, said } = await waited([1.2, 1.2, 0.8, 0.5]);
    expect(seconds).toBe(10);
    expect(said).toBe('\nwaiting for a load of at most 0.5, now it is 1.20\n');
  });

  test('begins after ten minutes at any load, and says so', async () => {
    const { seconds, said } = await waited([3]);
    expect(seconds).toBe(600);
    expect(said).toContain('the load is still 3.00');
  });
});

describe('processorMs', () => {
  test('returns the processor time of a process', async () => {
    const [before, started] = [await processorMs(process.pid), process.cpuUsage()];
    while (process.cpuUsage(started).user < USED_US)
      for (let turn = 0; turn < 100_000; turn += 1) Math.sqrt(turn);
    const used = (await processorMs(process.pid)) - before;
    const { user, system } = process.cpuUsage(started);
    expect(Math.abs(used - (user + system) / 1000)).toBeLessThan(USED_US / 1000 / 2);
  });

  test('notices less than a tick of the kernel', async () => {
    const idle = spawn('sleep', ['60']);
    onTestFinished(() => void idle.kill());
    await expect.poll(() => processorMs(idle.pid ?? 0)).toBeGreaterThan(0);
    expect(await processorMs(idle.pid ?? 0)).toBeLessThan(TICK_MS);
  });
});

const TICK_MS = 10;
const USED_US = 100_000;

function experiment(entrants: Entrant[], options: Partial<Experiment> = {}): Experiment {
  return {
    name: 'test',
    title: 'test',
    proves: [],
    metrics: [RATE],
    entrants,
    warmUps: 0,
    rounds: 3,
    ...options,
  };
}

function steady(name: string, rate: number, turns: string[] = []): Entrant {
  const round = async () => {
    turns.push(name);
    return { rate };
  };
  return { name, includes: '', enter: async () => ({ round, leave: async () => {} }) };
}

function varying(name: string, rates: number[]): Entrant {
  const left = [...rates];
  const round = async () => ({ rate: left.shift() ?? 0 });
  return { name, includes: '', enter: async () => ({ round, leave: async () => {} }) };
}

function failing(name: string): Entrant {
  const round = () => Promise.reject(new Error('a frame is missing'));
  return { name, includes: '', enter: async () => ({ round, leave: async () => {} }) };
}

function silent(): Progress {
  return new Progress(1, () => {});
}
