import 'mcp-listen';
import { expect, test } from 'vitest';
import { Bus, type BusLog, type ShardRow } from '../../../dist/wasm/server/bindings.js';

const EMPTY: BusLog = {
  epoch: 'epoch',
  position: 0,
  floor: 0,
  after: () => [].values(),
  at: () => [].values(),
};

test.each([
  ['its topics', ['tools', 'resource:note://a']],
  ['no topic', []],
])('a shard from before a restart is restored with %s', (_, topics) => {
  using bus = restored(topics);
  expect(bus.edgesAt(1)).toBeUndefined();
});

test('a shard with a topic that cannot be read is refused: it would receive nothing of that', () => {
  expect(() => restored(['tools', 'a topic of another version'])).toThrow(
    expect.objectContaining({ code: 'malformed-message' }),
  );
});

function restored(topics: string[]): Bus {
  const row: ShardRow = { shard: 1, continent: 'EU', seq: 0, isLeaving: false, topics };
  const bus = new Bus(EMPTY, undefined);
  bus.setShards(0, 1, 100, [row]);
  return bus;
}
