import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { isFresh, unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { crate, root } from '../process/project.mjs';
import { sideBySide } from '../process/side-by-side.mjs';
import { step } from '../process/step.mjs';
import { missingParts, setUpCosts } from '../setup/setup.mjs';
import { writeBindings } from './bindings.mjs';
import { buildCli } from './cli.mjs';
import { buildConsole } from './console.mjs';
import { foreignImports } from './wasm.mjs';

/** Where the Worker that would be deployed lies after a build. */
export const workerBundle = join(root, '.build', 'worker');

/**
 * Builds what is out of date of pkg/ (the core as WebAssembly), dist/ (the glue), the console and
 * the notebook Worker.
 */
export async function build() {
  await unlessFresh('core', core, () =>
    step('Building the core: cargo, wasm-bindings, wasm-opt', buildCore),
  );
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

/**
 * Brings a clone to where its tests can run. What is compiled of the core needs none of the
 * packages: it does not wait for them.
 */
export async function setUpAndBuild() {
  await sideBySide([...(await missingParts()), ...(await coreParts())], [...setUpCosts, coreCost]);
  await build();
}

/** Whether pkg/ holds what the sources of the core make. */
export function isCoreBuilt() {
  return isFresh('core', core);
}

async function buildCore() {
  await compileSides();
  await emptied('pkg');
  await Promise.all(sides.map(bindSide));
}

async function coreParts() {
  if (await isCoreBuilt()) return [];
  return [{ name: 'core', label: 'Compiling the core: cargo', work: compileSides }];
}

/**
 * Each has its own profile, and so its own folder: they do not wait for one another. What
 * crosses to JavaScript is read and written once, so the bindings are compiled for size; what is
 * done for each event and stream is the core's.
 */
async function compileSides() {
  const env = { ...environment, CARGO_ENCODED_RUSTFLAGS: (await rustFlags()).join(FLAG_BREAK) };
  await Promise.all(sides.map((side) => compileSide(side, env)));
}

/**
 * @param {Side} side
 * @param {NodeJS.ProcessEnv} env
 */
function compileSide({ features, profile }, env) {
  const args = [
    ...['build', '--profile', profile, '--package', 'mcp-listen-bindings'],
    ...['--target', 'wasm32-unknown-unknown', '--target-dir', 'target'],
    ...['--no-default-features', '--features', features],
    ...['--config', `profile.${profile}.package.mcp-listen-bindings.opt-level="z"`],
  ];
  return run('cargo', args, { env });
}

/** @param {Side} side */
async function bindSide({ profile, folder, name }) {
  const compiled = `target/wasm32-unknown-unknown/${profile}/mcp_listen_bindings.wasm`;
  await mkdir(join(root, folder), { recursive: true });
  await writeBindings(compiled, folder, name);
  const file = `${folder}/${name}_bg.wasm`;
  await run('wasm-opt', [
    ...smallest,
    ...wasmFeatures.map((feature) => `--enable-${feature}`),
    file,
    '-o',
    file,
  ]);
  await typed(file);
  const foreign = await foreignImports(join(root, file));
  if (foreign.length > 0)
    throw new Error(
      `the core asks its host for ${foreign.join(', ')}: it may import its own bindings only`,
    );
  await inlined(file, `${folder}/inline.js`);
}

/**
 * The flags that the environment asks for, and what gives the places of panics the same names on
 * every machine: they would name the folders of crates and toolchains, which are in a home folder.
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
 * Types of the file itself, as hosts and bundlers give it to a module that imports it.
 * @param {string} wasm
 */
async function typed(wasm) {
  await writeFile(
    join(root, `${wasm}.d.ts`),
    'declare const module: WebAssembly.Module;\nexport default module;\n',
  );
}

/**
 * The module as text, for hosts that can fetch no file.
 * @param {string} wasm
 * @param {string} script
 */
async function inlined(wasm, script) {
  const text = (await readFile(join(root, wasm))).toString('base64');
  await writeFile(join(root, script), `export default '${text}';\n`);
  await writeFile(
    join(root, script.replace(/js$/, 'd.ts')),
    'declare const text: string;\nexport default text;\n',
  );
}

async function buildGlue() {
  await emptied('dist');
  await run('tsc', [
    '-b',
    'js',
    'js/adapters',
    'js/brokers/nats',
    'js/brokers/redis',
    'js/cloudflare',
    'js/node',
  ]);
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

/**
 * Each side is a module: a page loads no server, and a server without MCP Events loads none of it.
 * @typedef {object} Side
 * @property {string} features of the crate `bindings` that it has
 * @property {string} profile of Cargo.toml
 * @property {string} folder
 * @property {string} name of its files
 */

/** @type {Side} */
const server = {
  features: 'edge,bus,stdio',
  profile: 'release',
  folder: 'pkg',
  name: 'mcp_listen',
};
/** @type {Side} */
const client = {
  features: 'client',
  profile: 'client',
  folder: 'pkg/client',
  name: 'mcp_listen_client',
};
/** @type {Side} */
const events = {
  features: 'events',
  profile: 'events',
  folder: 'pkg/events',
  name: 'mcp_listen_events',
};
const sides = [server, client, events];

/** @type {import('../process/estimate.mjs').Cost} */
const coreCost = { name: 'core', after: ['Rust'], by: 'processor', processor: 80, least: 45 };

/** What stands between two flags of CARGO_ENCODED_RUSTFLAGS. */
const FLAG_BREAK = '\x1f';

const tools = ['scripts/build/build.mjs', 'scripts/build/bindings.mjs', 'package-lock.json'];
const core = { inputs: [...tools, ...crate], outputs: ['pkg'] };
const glue = [
  'scripts/build/cli.mjs',
  'package.json',
  'tsconfig.base.json',
  'js',
  'pkg',
  'examples/worker',
];
const page = ['scripts/build/console.mjs', 'package.json', 'console', 'dist', 'pkg'];
const worker = [
  'wrangler.toml',
  'package.json',
  'examples/notebook',
  'dist',
  'pkg',
  '.build/console',
];

/**
 * What rustc emits for wasm32-unknown-unknown; wasm-opt takes every module for the first version of
 * WebAssembly.
 */
const wasmFeatures = [
  'bulk-memory',
  'multivalue',
  'mutable-globals',
  'nontrapping-float-to-int',
  'reference-types',
  'sign-ext',
];

/**
 * Nothing points into the first kilobyte of memory: it is the far end of the stack, which grows
 * down to it. Code that is laid flat and put together again is smaller by 0.7 KB of gzip.
 */
const smallest = [
  '--low-memory-unused',
  ...['-Oz', '--flatten', '--rereloop', '-Oz', '-Oz', '--converge'],
];

await main(import.meta.url, setUpAndBuild);
