import { readdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { type Installed, installed } from './installed.ts';
import { framesAcross, methods } from './worker/across.ts';
import { bundledWorker } from './worker/start.ts';

let npm: Installed;
let project: string;

beforeAll(async () => {
  npm = await installed();
  project = npm.folder;
});

afterAll(() => npm.remove());

const nodeOnPath = await nodeOfMachine();

describe('the npm package', () => {
  test('contains what users run and read, and nothing else', () => {
    const folders = new Set(npm.files.map((path) => path.replace(/\/.*/, '/')));
    expect([...folders].sort()).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE-APACHE',
        'LICENSE-MIT',
        'README.md',
        'dist/',
        'page/',
        'package.json',
        'pkg/',
      ].sort(),
    );
    expect(npm.files).toContain('pkg/mcp_listen_bg.wasm');
    expect(npm.files).toContain('pkg/client/mcp_listen_client_bg.wasm');
    const licenses = ['dist/cli/licenses.md', 'page/licenses.md', 'pkg/licenses.md'];
    expect(npm.files).toEqual(expect.arrayContaining(licenses));
    expect(npm.files.filter((path) => !/\.(js|ts|map|wasm|md|json)$|^LICENSE-/.test(path))).toEqual(
      [],
    );
  });

  test('depends on a JSON Schema validator alone, and runs nothing when it is installed', async () => {
    const manifest = JSON.parse(
      await readFile(join(project, 'node_modules', 'mcp-listen', 'package.json'), 'utf8'),
    );
    expect(Object.keys(manifest.dependencies)).toEqual(['@cfworker/json-schema']);
    expect(
      Object.keys(manifest.scripts).filter((name) =>
        /^(pre|post)?(install|prepare|pack)/.test(name),
      ),
    ).toEqual([]);
    expect(await readdir(join(project, 'node_modules'))).toEqual(
      expect.not.arrayContaining(['typescript', 'wrangler']),
    );
  });

  test('passes publint', async () => {
    await run('publint', ['run', '--strict', npm.tarball]);
  });

  test('has types for every kind of module resolution', async () => {
    await run('attw', [npm.tarball, '--profile', 'esm-only', '--no-emoji']);
  });

  test.each([
    ['the Node of this project', 'node', []],
    ['the Node of this machine', nodeOnPath, []],
    ['Deno', 'deno', ['run', '--allow-all']],
    ['Bun', 'bun', []],
  ])('serves a listen stream in %s', async (_, command, args) => {
    expect(methods(await run(command, [...args, 'listen.mjs'], { cwd: project }))).toEqual(SERVED);
  });

  test('adapts to Hono, and tests buses, without another package', async () => {
    expect(await run('node', ['adapters.mjs'], { cwd: project })).toBe('behind\n');
  });

  test('serves a listen stream from one bundled file in Node', async () => {
    const elsewhere = join(project, 'elsewhere', 'bundled.mjs');
    const options = { bundle: true, format: 'esm', outfile: elsewhere, platform: 'node' } as const;
    await build({ absWorkingDir: project, entryPoints: ['bundled.mjs'], ...options });
    expect(methods(await run('node', [elsewhere], { cwd: project }))).toEqual(SERVED);
  });

  test('serves a listen stream across isolates of workerd', async () => {
    expect(await framesAcross(await bundledWorker(project))).toEqual(SERVED.slice(0, 2));
  });
});

/**
 * The first Node on the path outside the project: on a machine with the oldest supported Node, that
 * one.
 */
async function nodeOfMachine(): Promise<string> {
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(root));
  const found = await run('which', ['node'], { env: { PATH: path.join(delimiter) } }).catch(
    () => 'node',
  );
  return found.trim();
}

const SERVED = [
  'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed',
  'complete',
];
