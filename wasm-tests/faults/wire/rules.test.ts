import { expect, test } from 'vitest';
import { textFrame, textOf } from './frames.ts';
import { jumped, swapped, swappedFar } from './rules.ts';
import type { Rule, Tunnel } from './wire.ts';

test('a swapped event arrives after the next frame', () => {
  expect(received(swapped(1), ['a', 'b', 'c'])).toEqual(['b', 'a']);
});

test('an event that is swapped far arrives after the next chosen event', () => {
  const chances = [0, 1, 1, 0, 1];
  expect(
    received(
      swappedFar(0.5, () => chances.shift() ?? 1),
      ['a', 'b', 'c', 'd', 'e'],
    ),
  ).toEqual(['b', 'c', 'd', 'a', 'e']);
});

test('the positions of a batch jump forward, and nothing else changes', () => {
  const batch = (previous: number, through: number) =>
    `{"type":"batch","previous":${previous},"through":${through},"at":5,"events":[{"position":${through},"event":{}}]}`;
  const texts: string[] = [];
  const toEdge = (frame: Buffer) => texts.push(textOf(frame));
  jumped(1_000)(textFrame(batch(1, 2)), { toEdge } as unknown as Tunnel);
  expect(texts).toEqual([batch(1_001, 1_002)]);
});

/** The events that an edge receives, in order. */
function received(rule: Rule, events: string[]): string[] {
  const names: string[] = [];
  const toEdge = (frame: Buffer) =>
    names.push((JSON.parse(textOf(frame)) as { name: string }).name);
  const tunnel = { memory: new Map(), toEdge } as unknown as Tunnel;
  for (const name of events)
    rule(textFrame(JSON.stringify({ type: 'batch', name }).replace(' ', '')), tunnel);
  return names;
}
