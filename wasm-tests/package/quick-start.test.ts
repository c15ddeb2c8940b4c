import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { startWorkerd } from '../../scripts/workerd/workerd.mjs';
import { Heard, typescriptClient } from '../interop/typescript-client.ts';
import { packed } from './installed.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-listen-quick-start-'));
  const tarball = await packed(folder);
  const command = (await section()).match(/^npm install (.+)$/m)?.[1]?.split(' ') ?? [];
  // Not published yet: what would be.
  const packages = command.map((name) => (name === 'mcp-listen' ? tarball : name));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], {
    cwd: folder,
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the quick start of the README works in an empty folder, word by word', async () => {
  const text = await section();
  await writeFile(join(folder, 'worker.ts'), block(text, 'ts'));
  await writeFile(join(folder, 'wrangler.toml'), block(text, 'toml'));
  await run('wrangler', ['deploy', '--dry-run', '--outdir', 'deployed'], { cwd: folder });
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  const workerd = await startWorkerd({ bundle: join(folder, 'deployed'), durableObjects });
  try {
    const [listener, other] = await Promise.all(
      workerd.edges.map((edge) => typescriptClient(`${edge}/mcp`)),
    );
    if (listener === undefined || other === undefined) throw new Error('there are two isolates');
    const heard = new Heard(listener);
    const subscription = await listener.listen({ resourceSubscriptions: ['lamp://desk'] });
    await other.callTool({ name: 'switch', arguments: {} });
    expect(await heard.next()).toBe('resources/updated lamp://desk');
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  } finally {
    await workerd.stop();
  }
});

/** What the README says of a Worker. */
async function section(): Promise<string> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  return readme.match(/^## Add it to your Worker\n(.*?)^## /ms)?.[1] ?? '';
}

function block(text: string, language: string): string {
  return text.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms'))?.[1] ?? '';
}
