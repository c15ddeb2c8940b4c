import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Notifications, typescriptClient } from '../interop/clients/typescript.ts';
import { clone } from './clone.ts';

let folder: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ folder, remove } = await clone());
});

afterAll(() => remove());

test('npm start serves from a fresh clone, estimates the time, and builds nothing that ships', async () => {
  const { output, origin } = await started();
  expect(output).toContain('Compiling the core without optimization ...');
  expect(output).toMatch(/(about \d+ (s|min)|a few seconds) left/);
  expect((await fetch(origin)).status).toBe(200);
  const [listener, other] = await Promise.all([
    typescriptClient(`${origin}/mcp`),
    typescriptClient(`${origin}/mcp`),
  ]);
  const notifications = new Notifications(listener);
  const subscription = await listener.listen({ resourceSubscriptions: ['note://todo'] });
  await other.callTool({ name: 'edit_note', arguments: { name: 'todo', text: 'buy oat milk' } });
  expect(await notifications.next()).toBe('resources/updated note://todo');
  await subscription.close();
  await Promise.all([listener.close(), other.close()]);
  for (const built of ['pkg', 'dist'])
    await expect(access(join(folder, built)), built).rejects.toThrow('ENOENT');
}, 600_000);

test('npm start builds nothing the second time', async () => {
  expect((await started()).output).not.toMatch(/Compiling|Bundling/);
});

/** Starts it on any free port until the end of the test. */
async function started(): Promise<{ output: string; origin: string }> {
  const env = { ...process.env, PORT: '0' };
  const child = spawn(process.execPath, ['scripts/start/start.mjs'], { cwd: folder, env });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  let output = '';
  child.stderr.on('data', (text) => {
    output += text;
  });
  for await (const text of child.stdout) {
    output += text;
    if (output.includes('Ctrl-C')) break;
  }
  const origin = output.match(/(http:\S+)\/mcp/)?.[1];
  if (origin === undefined) throw new Error(output);
  return { output, origin };
}
