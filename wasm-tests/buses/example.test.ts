import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { environment, run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { curlCommands, ran } from '../host/commands.ts';
import { lastingPort } from '../host/port.ts';
import { startedExample } from '../interop/servers/example.ts';
import { startRedis } from './brokers/broker-process.ts';
import { Cleanup } from './cleanup.ts';

const cleanup = new Cleanup();

afterAll(() => cleanup.run());

test('the commands of the page notify the listener of one process of a call in another', async () => {
  const redis = cleanup.later(await startRedis(), (it) => it.stop());
  const variables = { REDIS_URL: `redis://127.0.0.1:${redis.port}` };
  const started = () => startedExample('redis', 'node', ['server.mjs'], variables);
  const [here, there] = [await started(), await started()];
  const [listening = '', calling = ''] = await curlCommands('redis.md');
  const listener = ran(listening.replace('http://127.0.0.1:8787/mcp', here.url));
  await expect.poll(() => listener.output).toContain('subscriptions/acknowledged');
  const caller = ran(calling.replace('http://127.0.0.1:8788/mcp', there.url));
  await expect.poll(() => caller.output).toContain('"text":"1"');
  await expect.poll(() => listener.output).toContain('resources/updated');
  expect(listener.output).toContain('counter://visits');
});

test('without Redis the server says in one line that it does not respond, and where', async () => {
  const host = `127.0.0.1:${await lastingPort()}`;
  const env = { ...environment, REDIS_URL: `redis://name:secret@${host}` };
  const cwd = join(root, 'examples', 'redis');
  await expect(run('node', ['server.mjs'], { cwd, env })).rejects.toThrow(
    new RegExp(`failed with 1\\nRedis does not respond at REDIS_URL \\(${host}\\): ECONNREFUSED$`),
  );
});
