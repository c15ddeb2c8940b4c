import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { listen } from '../../host/listen.ts';
import { WatchedServer } from '../../host/servers/watched.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const TOOLS = { toolsListChanged: true };

test('WatchedServer counts a client that leaves after its request was garbage-collected', async () => {
  const behind = new WatchedServer();
  const stream = await listen(await behind.start(), TOOLS);
  expect(await stream.message()).toContain('notifications/subscriptions/acknowledged');
  expect(behind.listening).toBe(1);
  // What has no reference left is collected in the turn after the next.
  for (let turn = 0; turn < 2; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  stream.drop();
  await expect.poll(() => behind.listening).toBe(0);
  await behind.stop();
});
