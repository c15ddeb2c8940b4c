import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.mjs';
import { unlessFresh } from './fresh.mjs';
import { main } from './main.mjs';
import { root } from './project.mjs';
import { setUp } from './setup.mjs';
import { step } from './step.mjs';
import { foreignImports } from './wasm.mjs';

/** Where the Worker that would be deployed lies after a build. */
export const workerBundle = join(root, '.build', 'worker');

/** Builds what is out of date of pkg/ (the core as WebAssembly), dist/ (the glue) and the notebook Worker. */
export async function build() {
  await unlessFresh('core', { inputs: [...tools, ...crate], outputs: ['pkg'] }, () =>
    step('Building the core: cargo, wasm-bindgen, wasm-opt', buildCore),
  );
  await unlessFresh('glue', { inputs: [...tools, 'tsconfig.base.json', 'js', 'pkg'], outputs: ['dist'] }, () =>
    step('Building the glue: tsc', buildGlue),
  );
  await unlessFresh('worker', { inputs: [...tools, ...worker], outputs: ['.build/worker'] }, () =>
    step('Bundling the Worker: wrangler', bundleWorker),
  );
}

async function buildCore() {
  await run('cargo', ['build', '--release', '--lib', '--target', 'wasm32-unknown-unknown', '--target-dir', 'target']);
  await emptied('pkg');
  const compiled = 'target/wasm32-unknown-unknown/release/mcp_listen.wasm';
  await run('wasm-bindgen', ['--target', 'web', '--out-dir', 'pkg', '--out-name', 'mcp_listen', compiled]);
  await run('wasm-opt', [
    '-Oz',
    ...wasmFeatures.map((name) => `--enable-${name}`),
    'pkg/mcp_listen_bg.wasm',
    '-o',
    'pkg/mcp_listen_bg.wasm',
  ]);
  const foreign = await foreignImports(join(root, 'pkg', 'mcp_listen_bg.wasm'));
  if (foreign.length > 0)
    throw new Error(`the core asks its host for ${foreign.join(', ')}: it may import its own bindings only`);
}

async function buildGlue() {
  await emptied('dist');
  await run('tsc', ['-b', 'js', 'js/cloudflare', 'js/node']);
}

async function bundleWorker() {
  await emptied('.build/worker');
  await run('wrangler', ['deploy', '--dry-run', '--outdir', '.build/worker']);
}

/** @param {string} folder what an earlier build left in it must not be shipped */
async function emptied(folder) {
  await rm(join(root, folder), { recursive: true, force: true });
  await mkdir(join(root, folder), { recursive: true });
}

const tools = ['scripts/build.mjs', 'package-lock.json'];
const crate = ['rust-toolchain.toml', 'Cargo.toml', 'Cargo.lock', 'src'];
const worker = ['wrangler.toml', 'package.json', 'examples', 'dist', 'pkg'];

/** What rustc emits for wasm32-unknown-unknown; wasm-opt takes every module for the first version of WebAssembly. */
const wasmFeatures = [
  'bulk-memory',
  'multivalue',
  'mutable-globals',
  'nontrapping-float-to-int',
  'reference-types',
  'sign-ext',
];

await main(import.meta.url, async () => {
  await setUp();
  await build();
});
