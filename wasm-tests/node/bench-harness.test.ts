import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { argumentsOf } from '../../bench/harness/arguments.ts';
import { CHECKS, checked } from '../../bench/harness/baseline.ts';
import { compare } from '../../bench/harness/comparison.ts';
import type { Entrant, Experiment, Metric } from '../../bench/harness/experiment.ts';
import { type Outcome, pool, ratioAt } from '../../bench/harness/outcome.ts';
import { verdicts } from '../../bench/harness/promises/verdicts.ts';
import { judged, load, loadFrom, merged, save } from '../../bench/harness/record/results.ts';
import { exponent, quantile, summaryOf } from '../../bench/harness/statistics.ts';
import { Progress } from '../../bench/harness/terminal/progress.ts';
import { processorMs } from '../../bench/over-http/servers/processor.ts';
import { report } from '../../bench/report/report.ts';

const RATE: Metric = { id: 'rate', title: 'rate', unit: 'frames/s', better: 'more' };
const CPU: Metric = { id: 'cpu', title: 'processor', unit: 'us/event', better: 'less' };

describe('statistics', () => {
  test('quote the median, the least and the most', () => {
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
  test('interleaves the rounds, each with another contender first, and counts no warm-up', async () => {
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

  test('goes on without a contender that fails, and says why', async () => {
    const outcome = await compare(experiment([steady('a', 1), failing('b')]), silent());
    expect(outcome.contenders[0]?.points[0]?.rounds).toHaveLength(3);
    expect(outcome.contenders[1]).toMatchObject({ failed: 'a frame is missing' });
    expect(ratioAt(outcome, RATE, 0, ['a', 'b'])).toBeUndefined();
  });

  test('takes ratios round by round', async () => {
    const outcome = await compare(
      experiment([varying('a', [2, 20, 6]), varying('b', [1, 10, 2])]),
      silent(),
    );
    expect(ratioAt(outcome, RATE, 0, ['a', 'b'])).toEqual({ median: 2, min: 2, max: 3 });
  });

  test('prints who does how well, with the ratio, while it goes', async () => {
    const said: string[] = [];
    const progress = new Progress(1, (text) => said.push(text));
    await compare(experiment([steady('a', 30), steady('b', 10), failing('c')]), progress);
    expect(said[1]).toContain('round 1/3: a 30, b 10, c failed');
    expect(said.at(-1)).toMatch(
      /a +30 +30 +30 +frames\/s\n +b +10 +10 +10 +frames\/s +3x +3 +3\n +c +a frame is missing/,
    );
  });
});

describe('a promise', () => {
  test('holds when all its conditions do', () => {
    expect(verdicts([dense(9, 1.3)])['S1']).toMatchObject({
      holds: true,
      value: 9,
      unit: 'x',
      goal: 9,
      from: ['dense'],
    });
  });

  test.each([
    ['one condition does not', dense(8.9, 1.3)],
    ['another condition does not', dense(9, 1.31)],
    [
      'one condition was not measured',
      { ...dense(9, 1.3), contenders: dense(9, 1.3).contenders.slice(0, 2) },
    ],
  ])('does not hold where %s', (_, outcome) => {
    expect(verdicts([outcome])['S1']?.holds).toBe(false);
  });

  test('about all hosts is judged by the slowest', () => {
    const host = (name: string, ms: number) => ({
      name,
      includes: '',
      points: [{ x: 0, rounds: [{ instantiate: ms }] }],
    });
    const metrics: [Metric] = [
      { id: 'instantiate', title: 'instantiate', unit: 'ms', better: 'less' },
    ];
    const hosts = {
      ...dense(1, 1),
      name: 'instantiate',
      proves: ['S7'],
      metrics,
      contenders: [host('a', 1), host('b', 7)],
    };
    const slowest = (outcome: Outcome) => verdicts([outcome])['S7']?.conditions.at(-1);
    expect(slowest(hosts)).toMatchObject({ holds: false, value: 7 });
    const failed = { name: 'c', includes: '', points: [], failed: 'there is no such host' };
    expect(slowest({ ...hosts, contenders: [host('a', 1), failed] })).toMatchObject({
      holds: false,
      value: null,
    });
  });

  test('on an acknowledgment allows what the SDK takes and 1.2 round trips to an object', () => {
    const metrics: [Metric] = [{ id: 'ack', title: 'ack', unit: 'ms', better: 'less' }];
    const standing = (name: string, ack: number) => ({
      name,
      includes: '',
      points: [{ x: 0, rounds: [{ ack }] }],
    });
    const judged = (ours: number) => {
      const peers = [standing('TypeScript SDK', 2), standing('a round trip to an object', 1)];
      const contenders = [standing('mcp-listen', ours), ...peers];
      const conditions = verdicts([
        { ...dense(1, 1), name: 'ack-new', proves: ['S8'], metrics, contenders },
      ])['S8'];
      return conditions?.conditions.find(({ what }) => what.includes('new topic'));
    };
    expect(judged(3.2)).toMatchObject({ holds: true, value: 1 });
    expect(judged(3.3)).toMatchObject({ holds: false });
  });

  test('on what is added to the limit takes the limit off at each size', () => {
    const points = (...costs: number[]) => costs.map((cpu, x) => ({ x, rounds: [{ cpu }] }));
    const judged = (...ours: number[]) => {
      const contenders = [
        { name: 'mcp-listen', includes: '', points: points(...ours) },
        { name: 'enqueue only', includes: '', points: points(10, 20) },
      ];
      const outcome = {
        ...dense(1, 1),
        name: 'targeted-by-streams',
        proves: ['S3'],
        metrics: [CPU] as [Metric],
        contenders,
      };
      return verdicts([outcome])['S3']?.conditions.at(-1);
    };
    expect(judged(20, 33)).toMatchObject({ holds: true, value: 1.3 });
    expect(judged(20, 34)).toMatchObject({ holds: false, value: 1.4 });
    expect(judged(20)).toMatchObject({ holds: false, value: null });
  });

  test('that nothing was measured for has no verdict', () => {
    expect(verdicts([])).toEqual({});
  });
});

describe('the lane', () => {
  const check = {
    name: 'x',
    experiment: 'dense',
    metric: 'rate',
    kind: { to: 'TypeScript SDK' },
    tolerance: 0,
  } as const;

  test('compares the least rounds', () => {
    const outcome = dense(3, 1);
    outcome.contenders[0]?.points[0]?.rounds.push({ rate: 2 }, { rate: 90 });
    expect(checked(check, [outcome])).toBe(2);
  });

  test('measures how much the largest costs beside the smallest', () => {
    const points = [2, 3, 8].map((rate, x) => ({ x, rounds: [{ rate }] }));
    const curve = { ...dense(1, 1), contenders: [{ name: 'mcp-listen', includes: '', points }] };
    expect(checked({ ...check, kind: 'spread' }, [curve])).toBe(4);
  });

  test('takes the least rounds of all measurements together', () => {
    const outcomes: Outcome[] = [];
    pool(outcomes, dense(9, 5));
    pool(outcomes, dense(3, 1));
    expect(outcomes).toHaveLength(1);
    expect(checked(check, outcomes)).toBe(3);
  });

  test('allows at most a quarter more than was measured', () => {
    expect(Math.max(...CHECKS.map(({ tolerance }) => tolerance))).toBeLessThanOrEqual(0.25);
  });

  test('has no figure where nothing was measured', () => {
    expect(checked(check, [])).toBeUndefined();
  });
});

describe('a part of a run', () => {
  test('takes the place of what was measured before, in the order of all experiments', () => {
    const outcome = (name: string, title: string): Outcome => ({ ...dense(1, 1), name, title });
    const before = [outcome('c', 'before'), outcome('a', 'before'), outcome('gone', 'before')];
    const all = merged(['a', 'b', 'c'], before, [outcome('c', 'now'), outcome('b', 'now')]);
    expect(all.map(({ name, title }) => `${name} ${title}`)).toEqual([
      'a before',
      'b now',
      'c now',
    ]);
  });

  test('is written where results are committed, a quick one is not', () => {
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

describe('the processor of a server', () => {
  test('is what its process uses', async () => {
    const before = await processorMs(process.pid);
    while (process.cpuUsage().user < USED_US) Math.sqrt(2);
    const spun = process.cpuUsage();
    const used = await processorMs(process.pid);
    expect(used).toBeGreaterThanOrEqual(before);
    expect(Math.abs(used - (spun.user + spun.system) / 1000)).toBeLessThan(USED_US / 1000 / 2);
  });
});

describe('what is written', () => {
  test('is made from results.json alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-bench-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const points = [0, 10, 1_000].map((x) => ({ x, rounds: [{ rate: x }, { rate: 2 * x }] }));
    const curve: Outcome = {
      ...dense(1, 1),
      name: 'curve',
      proves: [],
      axis: 'streams <&>',
      contenders: [],
    };
    curve.contenders.push({ name: 'mcp-listen', includes: 'all', points });
    await save(folder, judged('quick', MACHINE, [dense(9, 1.3), curve]));
    await report(folder);
    const text = await readFile(join(folder, 'RESULTS.md'), 'utf8');
    expect(text).toContain('| S1 | dense fan-out, of the SDK | at least 9 x | 9 | 9 | 9 | holds |');
    expect(text).toContain(
      '| mcp-listen | 0 (0 - 0) | 15 (10 - 20) | 1,500 (1,000 - 2,000) | 1.00 |',
    );
    expect(await readdir(join(folder, 'plots'))).toEqual([
      'curve-cpu.svg',
      'curve-rate.svg',
      'dense-cpu.svg',
      'dense-rate.svg',
    ]);
    const svg = await readFile(join(folder, 'plots', 'curve-rate.svg'), 'utf8');
    expect(svg).toContain('streams &lt;&amp;>');
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('keeps the verdicts at the top level of the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-bench-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const results = judged('full', MACHINE, [dense(9, 1.3)]);
    await save(folder, results);
    const file = join(folder, 'results.json');
    const written = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    expect(written['S1']).toMatchObject({ holds: true, value: 9, unit: 'x', goal: 9 });
    expect(await load(file)).toEqual(results);
    expect(await loadFrom(folder)).toEqual(results);
    expect(await loadFrom(join(folder, 'nowhere'))).toBeUndefined();
  });
});

const USED_US = 200_000;
const MACHINE = {
  ...{
    date: '2026-11-21T00:00:00Z',
    cpu: 'cpu',
    cores: 2,
    memoryGb: 8,
    kernel: '6',
    node: 'v24',
    versions: {},
  },
  fsyncMs: 1,
};

/** Evidence for S1: the SDK delivers 1 and the limit costs 1; we do so many times that. */
function dense(ours: number, cost: number): Outcome {
  const standing = (name: string, rate: number, cpu: number) => {
    return { name, includes: '', points: [{ x: 0, rounds: [{ rate, cpu }] }] };
  };
  const contenders = [
    standing('mcp-listen', ours, cost),
    standing('TypeScript SDK', 1, 9),
    standing('enqueue only', 12, 1),
  ];
  return { name: 'dense', title: 'dense', proves: ['S1'], metrics: [RATE, CPU], contenders };
}

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
