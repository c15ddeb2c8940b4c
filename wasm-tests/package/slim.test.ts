import { expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { launchChromium } from '../console/chromium.ts';
import { builtWithVite, servedFiles } from './vite.ts';
import { useInstalledWorker } from './worker/installed.ts';
import { bundledWorker, startWithBus } from './worker/start.ts';

const worker = useInstalledWorker();

test.each([
  ['Node', 'node', []],
  ['Deno', 'deno', ['run', '--allow-all']],
  ['Bun', 'bun', []],
])(
  'in %s, slim accepts bytes and modules, rejects without one, and starts once',
  async (_, command, args) => {
    const output = await run(command, [...args, 'slim/node.mjs', worker.origin()], {
      cwd: worker.folder(),
    });
    const [server, client, listened, ...frames] = output.split('\n');
    expect([server, client, listened]).toEqual(['not-loaded', 'not-loaded', LISTENED]);
    expect(frames.join('\n')).toContain('notifications/tools/list_changed');
  },
);

test('in a Worker, slim accepts the modules of mcp-listen/wasm and mcp-listen/client/wasm', async () => {
  const config = ['--config', 'slim/wrangler.toml'];
  const bundle = await bundledWorker(worker.folder(), 'slim-worker', ...config);
  const slim = await startWithBus(bundle, { edges: 1, durableObjects: [] });
  try {
    expect(await (await fetch(slim.edges[0] ?? '')).text()).toBe(LISTENED);
  } finally {
    await slim.stop();
  }
});

test('in Chromium, slim accepts the modules that a build of Vite loads by URL', async () => {
  const files = await servedFiles(worker.folder());
  const browser = await launchChromium();
  try {
    await builtWithVite(worker.folder(), files.origin, ['slim/page.mjs']);
    const page = await browser.newPage();
    await page.goto(`${worker.origin()}/page`);
    const output = await page.evaluate(
      `import('${files.origin}/bundle/page.js').then(({ run }) => run())`,
    );
    expect(output).toContain(LISTENED);
    expect(output).toContain('notifications/tools/list_changed');
  } finally {
    await browser.close();
    await files.stop();
  }
});

const LISTENED = 'stopped after 2 reads of {"toolsListChanged":true}';
