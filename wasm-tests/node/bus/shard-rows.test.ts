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

test('a shard with a topic that cannot be read gets every event', () => {
  using bus = restored(['tools', 'a topic of another version']);
  bus.publish('{"kind":"resource_updated","uri":"note://z"}', 0);
  expect(batchesOf(bus).join()).toContain('note://z');
});

test('a shard gets no event of a topic that it does not have', () => {
  using bus = restored(['tools']);
  bus.publish('{"kind":"resource_updated","uri":"note://z"}', 0);
  expect(batchesOf(bus).join()).not.toContain('note://z');
});

/** The batches for the shards of a bus, which may have no events. */
function batchesOf(bus: Bus): string[] {
  const batches: string[] = [];
  for (let output = bus.output(0, 0); output !== undefined; output = bus.output(0, 0))
    if (output.kind === 'batch') batches.push(output.text);
  return batches;
}

function restored(topics: string[]): Bus {
  const row: ShardRow = { shard: 1, continent: 'EU', seq: 0, isLeaving: false, topics };
  const bus = new Bus(EMPTY, undefined);
  bus.setShards(0, 1, 100, [row]);
  return bus;
}
