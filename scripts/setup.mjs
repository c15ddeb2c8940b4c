import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { environment, run } from './command.mjs';
import { main } from './main.mjs';
import { cargoBin, npmBin, root } from './project.mjs';
import { step } from './step.mjs';

/** Brings a fresh clone to where it can build; says and does nothing where all is in place. */
export async function setUp() {
  await npmPackages();
  await rustToolchain();
  await wasmBindgen();
}

async function npmPackages() {
  if (!(await packagesMatchLock())) {
    await step('Installing the npm packages of package-lock.json', () =>
      run('npm', ['ci'], { env: environmentWithoutPackages() }),
    );
  }
  await run(join(npmBin, 'node'), ['--version']).catch(() => {
    throw new Error(
      'there is no Node for this platform in tools/node/package.json, or npm left it out: run "npm ci --include=optional"',
    );
  });
}

async function rustToolchain() {
  const { channel, components, targets } = await wantedToolchain();
  const installed = await installedComponents(channel);
  const missing = [...components, ...targets.map((target) => `rust-std-${target}`)].filter(
    (part) => !installed.some((name) => name === part || name.startsWith(`${part}-`)),
  );
  if (missing.length === 0) return;
  const parts = [
    ...components.flatMap((part) => ['--component', part]),
    ...targets.flatMap((target) => ['--target', target]),
  ];
  await step(`Installing Rust ${channel}: ${missing.join(', ')}`, () =>
    run('rustup', ['toolchain', 'install', channel, '--profile', 'minimal', '--no-self-update', ...parts]),
  );
}

async function wasmBindgen() {
  const tools = join('tools', 'wasm-bindgen');
  const version = await lockedVersion('wasm-bindgen');
  if ((await lockedVersion('wasm-bindgen-cli', tools)) !== version) {
    throw new Error(
      `tools/wasm-bindgen is not of wasm-bindgen ${version}, as Cargo.lock is: change its Cargo.toml, and "cargo update" there`,
    );
  }
  const installed = await run(join(cargoBin, 'wasm-bindgen'), ['--version']).catch(() => '');
  if (installed.trim() === `wasm-bindgen ${version}`) return;
  await step(`Compiling wasm-bindgen ${version}, once, for some minutes`, () =>
    // By a lock of our own. Unoptimised: it takes half as long to compile, and a fifth of a second more in each build.
    run(
      'cargo',
      [
        'install',
        '--locked',
        '--path',
        tools,
        '--target-dir',
        'target/tools',
        '--root',
        '.tools',
        '--force',
        '--debug',
      ],
      {
        env: { ...environment, CARGO_PROFILE_DEV_DEBUG: 'false', CARGO_PROFILE_DEV_INCREMENTAL: 'false' },
      },
    ),
  );
}

async function packagesMatchLock() {
  const wanted = await lockedPackages('package-lock.json');
  const present = await lockedPackages('node_modules/.package-lock.json').catch(() => undefined);
  if (present === undefined) return false;
  const same = Object.entries(present).every(([path, { version }]) => wanted[path]?.version === version);
  return same && Object.entries(wanted).every(([path, { optional }]) => path === '' || optional || path in present);
}

/**
 * @param {string} path
 * @returns {Promise<Record<string, { version: string, optional?: boolean }>>}
 */
async function lockedPackages(path) {
  return JSON.parse(await readFile(join(root, path), 'utf8')).packages;
}

/** npm removes node_modules first, so neither it nor its install scripts may run on the Node in there. */
function environmentWithoutPackages() {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== npmBin);
  return { ...environment, PATH: path.join(delimiter) };
}

async function wantedToolchain() {
  const toml = await readFile(join(root, 'rust-toolchain.toml'), 'utf8');
  /** @param {string} key */
  const list = (key) =>
    [...(toml.match(new RegExp(`^${key} = \\[(.*)\\]`, 'm'))?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
  return {
    channel: toml.match(/^channel = "(.+)"/m)?.[1] ?? 'stable',
    components: list('components'),
    targets: list('targets'),
  };
}

/** @param {string} channel */
async function installedComponents(channel) {
  await run('rustup', ['--version']).catch(() => {
    throw new Error('rustup is needed to compile the core: install it from https://rustup.rs and start again');
  });
  const list = await run('rustup', ['component', 'list', '--installed', '--toolchain', channel]).catch(() => '');
  return list.split('\n').filter((line) => line !== '');
}

/**
 * @param {string} crate
 * @param {string} folder of the lock
 */
async function lockedVersion(crate, folder = '.') {
  const lock = await readFile(join(root, folder, 'Cargo.lock'), 'utf8');
  const version = lock.match(new RegExp(`name = "${crate}"\\nversion = "(.+)"`))?.[1];
  if (version === undefined) throw new Error(`the Cargo.lock of ${folder} names no version of ${crate}`);
  return version;
}

await main(import.meta.url, setUp);
