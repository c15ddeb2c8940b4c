import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { npmBin, root } from '../process/project.mjs';
import { sideBySide } from '../process/side-by-side.mjs';
import { bindingsTool } from './wasm-tools.mjs';

/** @typedef {import('../process/side-by-side.mjs').Part} Part */

/** Installs what a fresh clone needs to build; does nothing if everything is installed. */
export async function setUp() {
  await sideBySide(await missingParts(), setUpCosts);
}

/**
 * In seconds, on two cores of a server of 2026 with a nearby registry.
 * @type {import('../process/estimate.mjs').Cost[]}
 */
export const setUpCosts = [
  { name: 'npm packages', after: [], by: 'network', processor: 30, least: 18 },
  { name: 'Rust', after: [], by: 'network', processor: 2, least: 8 },
  { name: 'wasm-bindings', after: ['Rust'], by: 'processor', processor: 38, least: 22 },
];

/**
 * Returns what a clone lacks to build, in an order in which it can be installed: `wasm-bindings`
 * needs `Rust`, the npm packages need neither.
 * @returns {Promise<Part[]>}
 */
export async function missingParts() {
  const parts = [await npmPackages(), await rustToolchain(), await bindingsTool()];
  return parts.filter((part) => part !== undefined);
}

/** @returns {Promise<Part | undefined>} */
async function npmPackages() {
  if (await packagesMatchLock()) return void (await expectNode());
  return {
    name: 'npm packages',
    label: 'Installing the npm packages of package-lock.json',
    work: async () => {
      await run('npm', ['ci'], { env: environmentWithoutPackages() });
      await expectNode();
    },
  };
}

async function expectNode() {
  await run(join(npmBin, 'node'), ['--version']).catch(() => {
    throw new Error(
      'tools/node/package.json has no Node for this platform, or npm omitted it: ' +
        'run "npm ci --include=optional"',
    );
  });
}

/** @returns {Promise<Part | undefined>} */
async function rustToolchain() {
  const { channel, components, targets } = await wantedToolchain();
  const installed = await installedComponents(channel);
  const missing = [...components, ...targets.map((target) => `rust-std-${target}`)].filter(
    (part) => !installed.some((name) => name === part || name.startsWith(`${part}-`)),
  );
  if (missing.length === 0) return undefined;
  const parts = [
    ...components.flatMap((part) => ['--component', part]),
    ...targets.flatMap((target) => ['--target', target]),
  ];
  const args = [
    'toolchain',
    'install',
    channel,
    '--profile',
    'minimal',
    '--no-self-update',
    ...parts,
  ];
  const label = `Installing Rust ${channel}: ${missing.join(', ')}`;
  return { name: 'Rust', label, work: () => run('rustup', args) };
}

async function packagesMatchLock() {
  const wanted = await lockedPackages('package-lock.json');
  const present = await lockedPackages('node_modules/.package-lock.json').catch(() => undefined);
  if (present === undefined) return false;
  const same = Object.entries(present).every(
    ([path, { version }]) => wanted[path]?.version === version,
  );
  return (
    same &&
    Object.entries(wanted).every(
      ([path, { optional }]) => path === '' || optional || path in present,
    )
  );
}

/**
 * @param {string} path
 * @returns {Promise<Record<string, { version: string, optional?: boolean }>>}
 */
async function lockedPackages(path) {
  return JSON.parse(await readFile(join(root, path), 'utf8')).packages;
}

/**
 * Returns the environment without the folder of node_modules: npm removes node_modules first, so
 * neither npm nor its install scripts may run on the Node in it.
 */
function environmentWithoutPackages() {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== npmBin);
  return { ...environment, PATH: path.join(delimiter) };
}

async function wantedToolchain() {
  const toml = await readFile(join(root, 'rust-toolchain.toml'), 'utf8');
  /** @param {string} key */
  const list = (key) =>
    [
      ...(toml.match(new RegExp(`^${key} = \\[(.*)\\]`, 'm'))?.[1] ?? '').matchAll(/"([^"]+)"/g),
    ].map((match) => match[1] ?? '');
  return {
    channel: toml.match(/^channel = "(.+)"/m)?.[1] ?? 'stable',
    components: list('components'),
    targets: list('targets'),
  };
}

/** @param {string} channel */
async function installedComponents(channel) {
  await run('rustup', ['--version']).catch(() => {
    throw new Error(
      'the core is compiled with rustup: install it from https://rustup.rs and start again',
    );
  });
  const list = await run('rustup', [
    'component',
    'list',
    '--installed',
    '--toolchain',
    channel,
  ]).catch(() => '');
  return list.split('\n').filter((line) => line !== '');
}

await main(import.meta.url, setUp);
