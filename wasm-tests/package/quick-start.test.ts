import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { Notifications, typescriptClient } from '../interop/clients/typescript.ts';
import { bundledWorker, startWithBus } from './worker/start.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-listen-quick-start-'));
  const { tarball } = inject('installed');
  const command = (await section()).match(/^npm install (.+)$/m)?.[1]?.split(' ') ?? [];
  // The package as it would be published.
  const packages = command.map((name) => (name === 'mcp-listen' ? tarball : name));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], {
    cwd: folder,
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the quick start of the README works verbatim in an empty folder', async () => {
  const text = await section();
  await writeFile(join(folder, 'worker.ts'), block(text, 'ts'));
  await writeFile(join(folder, 'wrangler.toml'), block(text, 'toml'));
  const workerd = await startWithBus(await bundledWorker(folder));
  try {
    const [listener, other] = await Promise.all(
      workerd.edges.map((edge) => typescriptClient(`${edge}/mcp`)),
    );
    if (listener === undefined || other === undefined) throw new Error('there are two isolates');
    const notifications = new Notifications(listener);
    const subscription = await listener.listen({ resourceSubscriptions: ['lamp://desk'] });
    await other.callTool({ name: 'switch', arguments: {} });
    expect(await notifications.next()).toBe('resources/updated lamp://desk');
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  } finally {
    await workerd.stop();
  }
});

/** The section of the README about a Worker. */
async function section(): Promise<string> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  return readme.match(/^## Add it to your Worker\n(.*?)^## /ms)?.[1] ?? '';
}

function block(text: string, language: string): string {
  return text.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms'))?.[1] ?? '';
}
