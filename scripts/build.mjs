import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildCli } from './cli.mjs';
import { environment, run } from './command.mjs';
import { buildConsole } from './console.mjs';
import { isFresh, unlessFresh } from './fresh.mjs';
import { main } from './main.mjs';
import { root } from './project.mjs';
import { setUp } from './setup.mjs';
import { step } from './step.mjs';
import { foreignImports } from './wasm.mjs';

/** Where the Worker that would be deployed lies after a build. */
export const workerBundle = join(root, '.build', 'worker');

/** Builds what is out of date of pkg/ (the core as WebAssembly), dist/ (the glue), the console and the notebook Worker. */
export async function build() {
  await unlessFresh('core', core, () => step('Building the core: cargo, wasm-bindings, wasm-opt', buildCore));
  await unlessFresh('glue', { inputs: [...tools, ...glue], outputs: ['dist'] }, () =>
    step('Building the glue: tsc, esbuild', buildGlue),
  );
  await unlessFresh('console', { inputs: [...tools, ...page], outputs: ['.build/console'] }, () =>
    step('Bundling the console: esbuild', () => buildConsole()),
  );
  await unlessFresh('worker', { inputs: [...tools, ...worker], outputs: ['.build/worker'] }, () =>
    step('Bundling the Worker: wrangler', bundleWorker),
  );
}

/** Whether pkg/ holds what the sources of the core make. */
export function isCoreBuilt() {
  return isFresh('core', core);
}

async function buildCore() {
  await emptied('pkg');
  await buildSide('server', 'pkg', 'mcp_listen');
  await buildSide('client', 'pkg/client', 'mcp_listen_client');
  await inlined('pkg/mcp_listen_bg.wasm', 'pkg/inline.js');
  await inlined('pkg/client/mcp_listen_client_bg.wasm', 'pkg/client/inline.js');
}

/**
 * The server and the client are modules of their own, so that a page loads no server.
 * @param {string} side the cargo feature whose bindings it has
 * @param {string} folder
 * @param {string} name of its files
 */
async function buildSide(side, folder, name) {
  const args = [
    ...['build', '--release', '--lib', '--target', 'wasm32-unknown-unknown', '--target-dir', 'target'],
    ...['--no-default-features', '--features', side],
    // A page downloads the client: small comes before fast there.
    ...(side === 'client' ? ['--config', 'profile.release.opt-level="z"'] : []),
  ];
  await run('cargo', args, { env: { ...environment, CARGO_ENCODED_RUSTFLAGS: (await rustFlags()).join(FLAG_BREAK) } });
  const compiled = 'target/wasm32-unknown-unknown/release/mcp_listen.wasm';
  await run('wasm-bindings', [compiled, folder, name]);
  const file = `${folder}/${name}_bg.wasm`;
  await run('wasm-opt', [...smallest, ...wasmFeatures.map((feature) => `--enable-${feature}`), file, '-o', file]);
  await typed(file);
  const foreign = await foreignImports(join(root, file));
  if (foreign.length > 0)
    throw new Error(`the core asks its host for ${foreign.join(', ')}: it may import its own bindings only`);
}

/**
 * The flags that the environment asks for, and what gives the places of panics the same names on every machine: they
 * would tell where crates and toolchains lie, which is in somebody's home.
 */
async function rustFlags() {
  const { CARGO_ENCODED_RUSTFLAGS: encoded, CARGO_HOME, RUSTFLAGS } = process.env;
  const wanted = encoded === undefined ? (RUSTFLAGS ?? '').split(/\s+/) : encoded.split(FLAG_BREAK);
  const places = {
    [root.replace(/[\\/]$/, '')]: '/mcp-listen',
    [CARGO_HOME ?? join(homedir(), '.cargo')]: '/cargo',
    [(await run('rustc', ['--print', 'sysroot'])).trim()]: '/rust',
  };
  const remapped = Object.entries(places).map(([from, to]) => `--remap-path-prefix=${from}=${to}`);
  return [...wanted.filter((flag) => flag !== ''), ...remapped];
}

/**
 * Types of the file itself, as hosts and bundlers give it to whoever imports it.
 * @param {string} wasm
 */
async function typed(wasm) {
  await writeFile(join(root, `${wasm}.d.ts`), 'declare const module: WebAssembly.Module;\nexport default module;\n');
}

/**
 * The module as text, for hosts that can fetch no file.
 * @param {string} wasm
 * @param {string} script
 */
async function inlined(wasm, script) {
  const text = (await readFile(join(root, wasm))).toString('base64');
  await writeFile(join(root, script), `export default '${text}';\n`);
  await writeFile(join(root, script.replace(/js$/, 'd.ts')), 'declare const text: string;\nexport default text;\n');
}

async function buildGlue() {
  await emptied('dist');
  await run('tsc', ['-b', 'js', 'js/cloudflare', 'js/nats', 'js/node', 'js/redis']);
  await buildCli();
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

/** What stands between two flags of CARGO_ENCODED_RUSTFLAGS. */
const FLAG_BREAK = '\x1f';

const tools = ['scripts/build.mjs', 'package-lock.json'];
const crate = ['rust-toolchain.toml', 'Cargo.toml', 'Cargo.lock', 'src', 'tools/wasm-bindgen'];
const core = { inputs: [...tools, ...crate], outputs: ['pkg'] };
const glue = ['scripts/cli.mjs', 'package.json', 'tsconfig.base.json', 'js', 'pkg', 'examples/worker'];
const page = ['scripts/console.mjs', 'package.json', 'console', 'dist', 'pkg'];
const worker = ['wrangler.toml', 'package.json', 'examples', 'dist', 'pkg', '.build/console'];

/** What rustc emits for wasm32-unknown-unknown; wasm-opt takes every module for the first version of WebAssembly. */
const wasmFeatures = [
  'bulk-memory',
  'multivalue',
  'mutable-globals',
  'nontrapping-float-to-int',
  'reference-types',
  'sign-ext',
];

/** Nothing points into the first kilobyte of memory: it is the far end of the stack, which grows down to it. */
const smallest = ['-Oz', '--low-memory-unused', '--converge'];

await main(import.meta.url, async () => {
  await setUp();
  await build();
});
