import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { seeded } from '../../../faults/wire/rules.ts';
import { type TopicText, World } from './world.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const TOPICS: TopicText[] = ['resource:note://a', 'resource:note://b'];
const anyIndex = fc.nat({ max: 5 });
const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constant('open' as const), anyIndex, anyIndex) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('close' as const), anyIndex, anyIndex) },
  { weight: 5, arbitrary: fc.tuple(fc.constant('pass' as const), fc.nat({ max: 4_000 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('kill' as const), anyIndex) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('stop' as const), anyIndex) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('start' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('lose' as const), fc.constantFrom(0, 0.3, 1)) },
);
type Step = [name: string, ...numbers: number[]];

test('whatever fails, one process keeps each topic that a stream has, and calls its hooks in turn', async () => {
  const property = fc.asyncProperty(
    fc.integer(),
    fc.array(anyStep, { minLength: 5, maxLength: 40 }),
    async (seed, steps) => {
      const random = seeded(seed);
      vi.spyOn(crypto, 'randomUUID').mockImplementation(() => `${random()}-0-0-0-0`);
      const world = new World(random);
      for (let count = 0; count < 3; count += 1) world.start();
      await vi.advanceTimersByTimeAsync(1_000);
      for (const step of steps) await play(world, step);
      world.loss = 0;
      await vi.advanceTimersByTimeAsync(CALM_MS);
      expect(world.problems).toEqual([]);
      for (const topic of TOPICS) expectKept(world, topic);
      for (const process of world.alive) process.kill();
      vi.clearAllTimers();
    },
  );
  await fc.assert(property, { numRuns: 150, examples: [RELEASED_UNKNOWINGLY] });
}, 30_000);

async function play(world: World, [name, first = 0, second = 0]: Step): Promise<void> {
  const process = world.alive[first % Math.max(world.alive.length, 1)];
  if (name === 'start' && world.alive.length < 5) world.start();
  else if (name === 'open') void process?.open(TOPICS[second % TOPICS.length] as TopicText);
  else if (name === 'close') process?.close(second);
  else if (name === 'kill') process?.kill();
  else if (name === 'stop') void process?.stop();
  else if (name === 'lose') {
    world.loss = first;
    world.hasLost ||= first > 0;
  }
  await vi.advanceTimersByTimeAsync(name === 'pass' ? first : 10);
}

function expectKept(world: World, topic: TopicText): void {
  const isWanted = world.streamsOf(topic).length > 0;
  expect(world.keepersOf(topic)).toHaveLength(isWanted ? 1 : 0);
  // What a process that died has registered remains. A process that receives all signals
  // removes only what is not wanted.
  if (isWanted && !world.hasLost) expect(world.registered).toContain(topic);
  for (const { interest } of world.alive)
    expect(interest.isWanted({ kind: 'resource_updated', uri: topic.slice(9) })).toBe(isWanted);
}

/** Two processes begin a topic at once, and one of them closes before it knows of the other. */
const RELEASED_UNKNOWINGLY: [number, Step[]] = [
  0,
  [['open', 1, 3], ['close', 0, 0], ['start'], ['open', 0, 1], ['stop', 0], ['close', 0, 0]],
];
/** Milliseconds after the last fault in which every process has taken over or given up. */
const CALM_MS = 25_000;
