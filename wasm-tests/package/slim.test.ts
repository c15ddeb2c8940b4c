import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { builtWithVite, launched, servedFiles } from './chromium.ts';
import { type Installed, installed } from './installed.ts';

let project: Installed;
let workerd: Workerd;
let origin: string;

beforeAll(async () => {
  project = await installed();
  await run('wrangler', ['deploy', '--dry-run', '--outdir', 'worker'], { cwd: project.folder });
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle: join(project.folder, 'worker'), durableObjects });
  origin = workerd.edges[0] ?? '';
});

afterAll(async () => {
  await workerd?.stop();
  await project?.remove();
});

test.each([
  ['Node', 'node', []],
  ['Deno', 'deno', ['run', '--allow-all']],
  ['Bun', 'bun', []],
])(
  'in %s, slim takes bytes and modules, says when it has none, and starts once',
  async (_, command, args) => {
    const output = await run(command, [...args, 'slim.mjs', origin], { cwd: project.folder });
    const [server, client, listened, ...frames] = output.split('\n');
    expect([server, client, listened]).toEqual(['not-loaded', 'not-loaded', LISTENED]);
    expect(frames.join('\n')).toContain('notifications/tools/list_changed');
  },
);

test('in a Worker, slim takes the modules of mcp-listen/wasm and mcp-listen/client/wasm', async () => {
  const config = ['--config', 'slim-worker.toml', '--outdir', 'slim-worker'];
  await run('wrangler', ['deploy', '--dry-run', ...config], { cwd: project.folder });
  const slim = await startWorkerd({
    bundle: join(project.folder, 'slim-worker'),
    edges: 1,
    durableObjects: [],
  });
  try {
    expect(await (await fetch(slim.edges[0] ?? '')).text()).toBe(LISTENED);
  } finally {
    await slim.stop();
  }
});

test('in Chromium, a build of Vite gives slim the modules by their addresses', async () => {
  const files = await servedFiles(project.folder);
  const browser = await launched();
  try {
    await builtWithVite(project.folder, files.origin, ['slim-page.mjs']);
    const page = await browser.newPage();
    await page.goto(`${origin}/page`);
    const output = await page.evaluate(
      `import('${files.origin}/bundle/slim-page.js').then(({ run }) => run())`,
    );
    expect(output).toContain(LISTENED);
    expect(output).toContain('notifications/tools/list_changed');
  } finally {
    await browser.close();
    await files.stop();
  }
});

const LISTENED = 'stopped after 2 reads of {"toolsListChanged":true}';
