import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { clone } from '../host/clone.ts';
import { Heard, typescriptClient } from '../interop/typescript-client.ts';

let folder: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ folder, remove } = await clone());
});

afterAll(() => remove());

test('npm start serves from a clone that has built nothing, says how long it takes, and leaves what ships alone', async () => {
  const { said, origin } = await started();
  expect(said).toContain('Compiling the core without optimization ...');
  expect(said).toMatch(/(about \d+ (s|min)|a few seconds) left/);
  expect((await fetch(origin)).status).toBe(200);
  const [listener, other] = await Promise.all([
    typescriptClient(`${origin}/mcp`),
    typescriptClient(`${origin}/mcp`),
  ]);
  const heard = new Heard(listener);
  const subscription = await listener.listen({ resourceSubscriptions: ['note://todo'] });
  await other.callTool({ name: 'edit_note', arguments: { name: 'todo', text: 'buy oat milk' } });
  expect(await heard.next()).toBe('resources/updated note://todo');
  await subscription.close();
  await Promise.all([listener.close(), other.close()]);
  for (const built of ['pkg', 'dist'])
    await expect(access(join(folder, built)), built).rejects.toThrow('ENOENT');
}, 600_000);

test('npm start builds nothing the second time', async () => {
  expect((await started()).said).not.toMatch(/Compiling|Bundling/);
});

/** Starts it at any free port, for the test that runs. */
async function started(): Promise<{ said: string; origin: string }> {
  const env = { ...process.env, PORT: '0' };
  const child = spawn(process.execPath, ['scripts/start/start.mjs'], { cwd: folder, env });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  for await (const text of child.stdout) {
    said += text;
    if (said.includes('Ctrl-C')) break;
  }
  const origin = said.match(/(http:\S+)\/mcp/)?.[1];
  if (origin === undefined) throw new Error(said);
  return { said, origin };
}
