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
import { writeLicenses } from './licenses.mjs';
import { foreignImports } from './wasm.mjs';

/** The folder of the bundled Worker after a build. */
export const workerBundle = join(root, '.build', 'worker');

/**
 * Builds what is out of date: pkg/ (the core as WebAssembly), dist/ (the glue), the console and
 * the notebook Worker.
 */
export async function build() {
  await unlessFresh('core', core, () =>
    step('Building the core: cargo, wasm-bindings, wasm-opt', buildCore),
  );
  await unlessFresh('glue', { inputs: [...tools, ...glue], outputs: ['dist'] }, () =>
    step('Building the glue: tsc, esbuild', buildGlue),
  );
  await unlessFresh('console', { inputs: [...tools, ...page], outputs: ['page'] }, () =>
    step('Bundling the console: Vite', () => buildConsole()),
  );
  await unlessFresh('worker', { inputs: [...tools, ...worker], outputs: ['.build/worker'] }, () =>
    step('Bundling the Worker: wrangler', bundleWorker),
  );
}

/**
 * Installs and builds everything that the tests need. The core compiles while the npm packages are
 * installed, because it needs none of them.
 */
export async function setUpAndBuild() {
  await sideBySide([...(await missingParts()), ...(await coreParts())], [...setUpCosts, coreCost]);
  await build();
}

/** Returns whether pkg/ is up to date with the sources of the core. */
export function isCoreBuilt() {
  return isFresh('core', core);
}

async function buildCore() {
  await compileSides();
  await emptyFolder('pkg');
  await Promise.all(sides.map(bindSide));
  await writeLicenses('pkg/licenses.md');
}

async function coreParts() {
  if (await isCoreBuilt()) return [];
  return [{ name: 'core', label: 'Compiling the core: cargo', work: compileSides }];
}

/**
 * Compiles all sides. Each has its own profile, and so its own folder: none waits for another. The
 * bindings are optimized for size, because they run once per call; the core does the work for each
 * event and stream.
 */
async function compileSides() {
  const env = await wasmEnvironment();
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
  await optimized(file, file);
  await writeTypes(file);
  const foreign = await foreignImports(join(root, file));
  if (foreign.length > 0)
    throw new Error(
      `the core imports ${foreign.join(', ')} from its host: it may import only its own bindings`,
    );
  await writeInlined(file, `${folder}/inline.js`);
}

/**
 * Writes the module of servers to a folder, with the names of its functions, which profiles show.
 * Returns its file.
 * @param {string} folder
 */
export async function writeNamedModule(folder) {
  const { name, profile } = server;
  await compileSide(server, await wasmEnvironment());
  await emptyFolder(folder);
  const compiled = `target/wasm32-unknown-unknown/${profile}/mcp_listen_bindings.wasm`;
  await writeBindings(compiled, folder, name);
  const file = `${folder}/${name}_bg.wasm`;
  await optimized(file, file, ['--debuginfo']);
  return join(root, file);
}

/**
 * Optimizes a compiled module.
 * @param {string} from
 * @param {string} to may be the same file
 * @param {string[]} [flags] of wasm-opt
 */
export async function optimized(from, to, flags = []) {
  const features = wasmFeatures.map((feature) => `--enable-${feature}`);
  await run('wasm-opt', [...flags, ...optimizations, ...features, from, '-o', to]);
}

/** Returns the environment in which what ships is compiled. */
export async function wasmEnvironment() {
  return { ...environment, CARGO_ENCODED_RUSTFLAGS: (await rustFlags()).join(FLAG_BREAK) };
}

/**
 * Returns the flags from the environment, and flags that make the file names in panics equal on
 * every machine: otherwise they would contain the home folder.
 */
async function rustFlags() {
  const { CARGO_ENCODED_RUSTFLAGS: encoded, CARGO_HOME, RUSTFLAGS } = process.env;
  const wanted = encoded === undefined ? (RUSTFLAGS ?? '').split(/\s+/) : encoded.split(FLAG_BREAK);
  const prefixes = {
    [root.replace(/[\\/]$/, '')]: '/mcp-listen',
    [CARGO_HOME ?? join(homedir(), '.cargo')]: '/cargo',
    [(await run('rustc', ['--print', 'sysroot'])).trim()]: '/rust',
  };
  const remapped = Object.entries(prefixes).map(
    ([from, to]) => `--remap-path-prefix=${from}=${to}`,
  );
  return [...wanted.filter((flag) => flag !== ''), ...remapped];
}

/**
 * Writes the types of a .wasm file, as modules import it in hosts and bundlers.
 * @param {string} wasm
 */
async function writeTypes(wasm) {
  await writeFile(
    join(root, `${wasm}.d.ts`),
    'declare const module: WebAssembly.Module;\nexport default module;\n',
  );
}

/**
 * Writes the module as base64 text, for hosts that cannot fetch files.
 * @param {string} wasm
 * @param {string} script
 */
async function writeInlined(wasm, script) {
  const text = (await readFile(join(root, wasm))).toString('base64');
  await writeFile(join(root, script), `export default '${text}';\n`);
  await writeFile(
    join(root, script.replace(/js$/, 'd.ts')),
    'declare const text: string;\nexport default text;\n',
  );
}

async function buildGlue() {
  await emptyFolder('dist');
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
  await emptyFolder('.build/worker');
  await run('wrangler', ['deploy', '--dry-run', '--outdir', '.build/worker']);
}

/** @param {string} folder outputs of an earlier build in it must not be shipped */
async function emptyFolder(folder) {
  await rm(join(root, folder), { recursive: true, force: true });
  await mkdir(join(root, folder), { recursive: true });
}

/**
 * Each side is a separate module, so that a page loads no server, and a server without MCP Events
 * loads nothing of them.
 * @typedef {object} Side
 * @property {string} features of the crate `bindings`
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

/** Separates the flags of CARGO_ENCODED_RUSTFLAGS. */
const FLAG_BREAK = '\x1f';

const tools = ['scripts/build/build.mjs', 'scripts/build/bindings.mjs', 'package-lock.json'];
const core = { inputs: [...tools, 'scripts/build/licenses.mjs', ...crate], outputs: ['pkg'] };
const glue = [
  'scripts/build/cli.mjs',
  'package.json',
  'tsconfig.base.json',
  'js',
  'pkg',
  'examples/worker',
];
const page = ['scripts/build/console.mjs', 'package.json', 'console', 'dist', 'pkg'];
const worker = ['wrangler.toml', 'package.json', 'examples/notebook', 'dist', 'pkg', 'page'];

/**
 * The features that rustc uses for wasm32-unknown-unknown; wasm-opt assumes the first version of
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
 * No pointer is in the first kilobyte of memory, which is the end of the downward-growing stack.
 * Flattening the code and restructuring it saves 0.7 KB of gzip, and functions that are sorted by
 * name, so that similar ones are neighbors, save 0.75 KB.
 */
const optimizations = [
  '--low-memory-unused',
  ...['-Oz', '--flatten', '--rereloop', '-Oz', '-Oz', '--converge'],
  ...['--reorder-functions-by-name', '--strip-producers', '--strip-target-features'],
];

await main(import.meta.url, setUpAndBuild);
