import { expect, test, vi } from 'vitest';
import { DelayQueue } from '../../../dist/timing/delay-queue.js';

test('keys are taken when they are due, the earliest first', () => {
  const queue = new DelayQueue(100);
  queue.add('first', 0);
  queue.add('second', 10);
  queue.add('third', 20);
  expect([...queue.take(99)]).toEqual([]);
  expect([...queue.take(110)]).toEqual(['first', 'second']);
  expect([...queue.take(119)]).toEqual([]);
  expect([...queue.take(120)]).toEqual(['third']);
  expect(queue.size).toBe(0);
});

test('a key that is added again is due later', () => {
  const queue = new DelayQueue(100);
  queue.add('early', 0);
  queue.add('late', 50);
  queue.add('early', 60);
  expect([...queue.take(159)]).toEqual(['late']);
  expect([...queue.take(160)]).toEqual(['early']);
});

test('a key is due in time after the clock was set back', () => {
  const queue = new DelayQueue(100);
  queue.add('before', 1_000);
  queue.delete('before');
  queue.add('after', 0);
  expect([...queue.take(100)]).toEqual(['after']);
});

test('a key behind one from before the clock was set back is due in time once that is gone', () => {
  const queue = new DelayQueue(100);
  queue.add('before', 1_000);
  queue.add('after', 0);
  expect([...queue.take(100)]).toEqual([]);
  queue.delete('before');
  expect([...queue.take(200)]).toEqual(['after']);
});

test('keys that are left from a taking that was stopped are taken later', () => {
  const queue = new DelayQueue(100);
  for (const key of ['a', 'b', 'c']) queue.add(key, 0);
  for (const key of queue.take(100)) if (key === 'b') break;
  expect([...queue.take(100)]).toEqual(['c']);
  queue.add('d', 0);
  expect([...queue.take(100)]).toEqual(['d']);
});

test('no key is looked at before the first one may be due', () => {
  const queue = new DelayQueue(100);
  for (let key = 0; key < 10; key += 1) queue.add(`${key}`, key);
  const looked = vi.spyOn(Map.prototype, Symbol.iterator);
  expect([...queue.take(99)]).toEqual([]);
  expect(looked).not.toHaveBeenCalled();
  looked.mockRestore();
  expect([...queue.take(100)]).toEqual(['0']);
});
