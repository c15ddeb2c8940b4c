import { expect, test } from 'vitest';
import { accepts, filterItems } from '../../../console/subscriptions/filter.ts';
import { nameOf, numberOf } from '../../../console/subscriptions/name.ts';

test('names run from A to Z, then from AA, and are unique', () => {
  const names = Array.from({ length: 800 }, (_, number) => nameOf(number));
  expect(names.slice(0, 3)).toEqual(['A', 'B', 'C']);
  expect([names[25], names[26], names[27], names[52], names[702]]).toEqual([
    'Z',
    'AA',
    'AB',
    'BA',
    'AAA',
  ]);
  expect(new Set(names).size).toBe(names.length);
  expect(names.map(numberOf)).toEqual([...names.keys()]);
});

test('the items of a filter include its tasks', () => {
  const requested = {
    toolsListChanged: true,
    resourceSubscriptions: ['note://a'],
    taskIds: ['t', 'u'],
  };
  const items = filterItems(requested);
  expect(items.map(({ label }) => label)).toEqual(['tools list', 'note://a', 'task t', 'task u']);
  expect(items.map(({ isIn }) => isIn({ taskIds: ['u'] }))).toEqual([false, false, false, true]);
  expect(items.map(({ taskId }) => taskId)).toEqual([undefined, undefined, 't', 'u']);
  expect(accepts(requested, 'task t')).toBe(true);
  expect(accepts(requested, 'task v')).toBe(false);
  expect(accepts({ resourceSubscriptions: ['task t'] }, 'task t')).toBe(true);
});
