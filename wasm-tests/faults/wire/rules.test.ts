import { expect, test } from 'vitest';
import { textFrame, textOf } from './frames.ts';
import { swapped, swappedFar } from './rules.ts';
import type { Rule, Tunnel } from './wire.ts';

test('a swapped event comes after the frame that follows it', () => {
  expect(passed(swapped(1), ['a', 'b', 'c'])).toEqual(['b', 'a']);
});

test('one swapped far comes after the next event that is chosen, however many there are between them', () => {
  const chances = [0, 1, 1, 0, 1];
  expect(
    passed(
      swappedFar(0.5, () => chances.shift() ?? 1),
      ['a', 'b', 'c', 'd', 'e'],
    ),
  ).toEqual(['b', 'c', 'd', 'a', 'e']);
});

/** What an edge receives of these events, in order. */
function passed(rule: Rule, events: string[]): string[] {
  const heard: string[] = [];
  const toEdge = (frame: Buffer) =>
    heard.push((JSON.parse(textOf(frame)) as { name: string }).name);
  const tunnel = { memory: new Map(), toEdge } as unknown as Tunnel;
  for (const name of events)
    rule(textFrame(JSON.stringify({ type: 'batch', name }).replace(' ', '')), tunnel);
  return heard;
}
