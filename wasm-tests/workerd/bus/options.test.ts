import { expect, inject, onTestFinished, test } from 'vitest';
import { startFixture } from '../../host/fixture/start.ts';
import { listen } from '../../host/listen.ts';

test.each([
  ['-1', 503],
  ['0', 200],
  ['3600000', 200],
  ['3600001', 503],
])(
  'a bus with a shardCloseMs of %s responds to a stream with %i',
  async (SHARD_CLOSE_MS, status) => {
    const workerd = await startFixture({
      bundle: inject('fixtureBundle'),
      edges: 1,
      text: { SHARD_CLOSE_MS },
    });
    onTestFinished(() => workerd.stop());
    const stream = await listen(`${workerd.edges[0]}/mcp`, { toolsListChanged: true });
    expect(stream.response.status).toBe(status);
    stream.drop();
  },
);
