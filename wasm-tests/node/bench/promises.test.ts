import { describe, expect, test } from 'vitest';
import type { Metric } from '../../../bench/harness/experiment.ts';
import type { Outcome } from '../../../bench/harness/outcome.ts';
import { verdicts } from '../../../bench/harness/promises/verdicts.ts';
import { CPU, dense } from './outcomes.ts';

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

  test('is judged by processor time where an experiment measures it, not by the rate', () => {
    const fast = dense(9, 1.3);
    Object.assign(fast.contenders[0]?.points[0]?.rounds[0] ?? {}, { rate: 100, cpu: 1.31 });
    expect(verdicts([fast])['S1']).toMatchObject({ holds: false, value: expect.closeTo(8.93, 2) });
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
});

describe('the promise', () => {
  test('about acknowledgments allows what the SDK takes and 1.2 round trips to an object', () => {
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

  test('about acknowledgments shows what the first stream and a hibernating bus add', () => {
    const metrics: [Metric] = [{ id: 'ack', title: 'ack', unit: 'ms', better: 'less' }];
    const measured = (name: string, ...acks: number[]): Outcome => ({
      ...{ ...dense(1, 1), name, proves: ['S8'], metrics },
      contenders: ['mcp-listen', 'TypeScript SDK'].map((contender, place) => ({
        ...{ name: contender, includes: '' },
        points: [{ x: 0, rounds: [{ ack: acks[place] ?? 0 }] }],
      })),
    });
    const shown = verdicts([measured('ack-first', 6, 2), measured('ack-hibernating', 20)])['S8'];
    const figures = shown?.conditions.filter(({ goal, value }) => goal === null && value !== null);
    expect(figures?.map(({ unit, value }) => [value, unit])).toEqual([
      [3, 'x'],
      [20, 'ms'],
    ]);
  });

  test('about added cost subtracts the limit at each size', () => {
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
      const conditions = verdicts([outcome])['S3']?.conditions;
      return conditions?.find(({ what }) => what.startsWith('what is added'));
    };
    expect(judged(20, 33)).toMatchObject({ holds: true, value: 1.3 });
    expect(judged(20, 34)).toMatchObject({ holds: false, value: 1.4 });
    expect(judged(20)).toMatchObject({ holds: false, value: null });
  });

  test('about the console judges each of its figures, by our own rounds', () => {
    const metrics = (ids: string[]) =>
      ids.map((id): Metric => ({ id, title: id, unit: 'ms', better: 'less' })) as [Metric];
    const measured = (name: string, ours: Record<string, number>): Outcome => ({
      ...{ name, title: name, proves: ['S14'], metrics: metrics(Object.keys(ours)) },
      contenders: [
        { name: 'mcp-listen', includes: '', points: [{ x: 0, rounds: [ours] }] },
        { name: 'another', includes: '', points: [] },
      ],
    });
    const paint = measured('console-paint', { narrow: 100, wide: 101 });
    const timeline = measured('console-timeline', { insert: 16, scroll: 17, typing: 50 });
    const size = measured('console-size', { inspect: 150, operate: 150, all: 151 });
    const held = verdicts([paint, timeline, size])['S14']?.conditions.map(({ holds }) => holds);
    expect(held).toEqual([true, false, true, false, true, true, true, false]);
  });
});

test('a figure without a goal is shown, and no promise depends on it', () => {
  const metrics: [Metric] = [CPU];
  const standing = (name: string, cpu: number) => {
    return { name, includes: '', points: [{ x: 0, rounds: [{ cpu }] }] };
  };
  const judged = (...contenders: Outcome['contenders']) =>
    verdicts([{ ...dense(1, 1), name: 'workerd', proves: ['S5'], metrics, contenders }])[
      'S5'
    ]?.conditions.find(({ what }) => what.includes('limit'));
  const limit = standing('enqueue only', 1);
  expect(judged(standing('mcp-listen', 90), limit)).toMatchObject({ holds: true, value: 90 });
  expect(judged(limit)).toMatchObject({ holds: true, value: null, goal: null });
});

test('a promise without measurements has no verdict', () => {
  expect(verdicts([])).toEqual({});
});
