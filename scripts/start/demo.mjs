import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeBindings } from '../build/bindings.mjs';
import { buildConsole } from '../build/console.mjs';
import { run } from '../process/command.mjs';
import { isFresh, unlessFresh } from '../process/fresh.mjs';
import { crate, root } from '../process/project.mjs';
import { setUpCosts } from '../setup/setup.mjs';

/** @typedef {import('../process/side-by-side.mjs').Part} Part */

const folder = join('.build', 'start');

/** The folder of the Worker that `npm start` runs in a clone without a build. */
export const demoBundle = join(root, folder, 'worker');

/**
 * Returns what `npm start` has to build. The core is compiled once and without optimization, with
 * all sides in one module, and the Worker is bundled from the sources. This differs from the
 * release, so it is kept in a separate folder.
 * @returns {Promise<Part[]>}
 */
export async function demoParts() {
  const isCoreFresh = await isFresh('start-core', corePaths);
  const core = {
    name: 'core',
    label: 'Compiling the core without optimization',
    work: compileCore,
  };
  const worker = {
    name: 'Worker',
    label: 'Bundling the console and the Worker',
    work: buildWorker,
  };
  if (!isCoreFresh) return [core, worker];
  return (await isFresh('start-worker', workerPaths)) ? [] : [worker];
}

/**
 * In the same unit as those of the set-up.
 * @type {import('../process/estimate.mjs').Cost[]}
 */
export const costs = [
  ...setUpCosts,
  { name: 'core', after: ['Rust'], by: 'processor', processor: 29, least: 20 },
  {
    name: 'Worker',
    after: ['npm packages', 'wasm-bindings', 'core'],
    by: 'processor',
    processor: 10,
    least: 7,
  },
];

function compileCore() {
  const profile = [
    '--profile',
    'start',
    '--target',
    'wasm32-unknown-unknown',
    '--target-dir',
    'target',
  ];
  return run('cargo', ['build', '--locked', '--package', 'mcp-listen-bindings', ...profile]);
}

async function buildWorker() {
  await unlessFresh('start-core', corePaths, bindAll);
  await unlessFresh('start-worker', workerPaths, async () => {
    await copySources();
    await buildConsole(join(root, folder));
    await run('wrangler', ['deploy', '--dry-run', '--outdir', 'worker'], {
      cwd: join(root, folder),
    });
  });
}

/** All sides are the same module, but separate instances, as in the release. */
async function bindAll() {
  const pkg = join(folder, 'pkg');
  await rm(join(root, pkg), { recursive: true, force: true });
  await mkdir(join(root, pkg), { recursive: true });
  await writeBindings(
    'target/wasm32-unknown-unknown/start/mcp_listen_bindings.wasm',
    pkg,
    'mcp_listen',
  );
  for (const side of ['client', 'events'])
    for (const file of ['.js', '_bg.wasm'])
      await cp(
        join(root, pkg, `mcp_listen${file}`),
        join(root, pkg, side, `mcp_listen_${side}${file}`),
      );
}

/**
 * Copies the sources beside the bindings that they import, as a package whose entries are the
 * sources.
 */
async function copySources() {
  for (const path of ['worker', ...copied])
    await rm(join(root, folder, path), { recursive: true, force: true });
  for (const path of copied)
    await cp(join(root, path), join(root, folder, path), { recursive: true });
  const manifest = await readFile(join(root, 'package.json'), 'utf8');
  await writeFile(
    join(root, folder, 'package.json'),
    manifest.replace(/"\.\/dist\/(.+)\.js"/g, '"./js/$1.ts"'),
  );
}

const copied = ['js', 'console', 'examples/notebook', 'tsconfig.base.json', 'wrangler.toml'];
const tools = ['scripts/build/bindings.mjs', 'scripts/start/demo.mjs', 'package-lock.json'];
const corePaths = {
  inputs: [...tools, ...crate],
  outputs: [join(folder, 'pkg')],
};
const workerPaths = {
  inputs: [...tools, 'scripts/build/console.mjs', 'package.json', join(folder, 'pkg'), ...copied],
  outputs: [join(folder, 'worker')],
};
