import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
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
  const [listening = '', calling = ''] = await commands();
  const listener = ran(listening.replace('http://127.0.0.1:8787/mcp', here.url));
  await expect.poll(() => listener.output).toContain('subscriptions/acknowledged');
  const caller = ran(calling.replace('http://127.0.0.1:8788/mcp', there.url));
  await expect.poll(() => caller.output).toContain('"text":"1"');
  await expect.poll(() => listener.output).toContain('resources/updated');
  expect(listener.output).toContain('counter://visits');
});

/** The commands with curl that the page prints, in their order. */
async function commands(): Promise<string[]> {
  const page = await readFile(join(root, 'docs', 'redis.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks.filter((block) => block.startsWith('curl '));
}

/** A command that runs until the end of the test, and what it has printed. */
function ran(command: string): { output: string } {
  const child: ChildProcess = spawn('sh', ['-c', `exec ${command}`]);
  onTestFinished(() => void child.kill());
  const printed = { output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => (printed.output += text));
  return printed;
}
