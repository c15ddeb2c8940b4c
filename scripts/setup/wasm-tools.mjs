import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { digest } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { cargoBin, root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

/**
 * Returns the part that compiles the program that writes the bindings of a WebAssembly module;
 * undefined if the locked version is installed.
 * @returns {Promise<import('../process/side-by-side.mjs').Part | undefined>}
 */
export async function bindingsTool() {
  return missing('wasm-bindings', []);
}

/**
 * Compiles the test runner for WebAssembly, unless it is installed; the lanes that need it call
 * this.
 */
async function testRunner() {
  const part = await missing('wasm-bindgen-test-runner', ['--features', 'test-runner']);
  if (part !== undefined) await step(part.label, part.work);
}

/**
 * @param {string} program
 * @param {string[]} features as arguments for cargo
 */
async function missing(program, features) {
  const version = await agreedVersion();
  const installed = await run(join(cargoBin, program), ['--version']).catch(() => '');
  const sources = await digest([tools]);
  const isCurrent = (await readFile(stampOf(program), 'utf8').catch(() => '')) === sources;
  if (isCurrent && installed.trim() === `${program} ${version}`) return undefined;
  const label = `Compiling ${program} ${version}, once`;
  const work = async () => {
    await install(features);
    await writeFile(stampOf(program), sources);
  };
  return { name: 'wasm-bindings', label, work };
}

/**
 * Returns the file with the digest of the sources from which a program was compiled. It is beside
 * the program, which several clones may share.
 * @param {string} program
 */
function stampOf(program) {
  return join(cargoBin, `${program}.sources`);
}

/**
 * Installs the tools with their own lock. They are not optimized: this halves the compile time,
 * and costs a second in each build.
 * @param {string[]} features
 */
function install(features) {
  const places = ['--path', tools, '--target-dir', 'target/tools', '--root', '.tools'];
  const env = {
    ...environment,
    CARGO_PROFILE_DEV_DEBUG: 'false',
    CARGO_PROFILE_DEV_INCREMENTAL: 'false',
  };
  return run('cargo', ['install', '--locked', '--force', '--debug', ...places, ...features], {
    env,
  });
}

/**
 * Returns the version of wasm-bindgen in the lock of the core, which has to be equal to that of
 * the tools.
 */
async function agreedVersion() {
  const version = await lockedVersion('wasm-bindgen', '.');
  for (const crate of ['wasm-bindgen-cli', 'wasm-bindgen-cli-support']) {
    if ((await lockedVersion(crate, tools)) === version) continue;
    throw new Error(
      `tools/wasm-bindgen does not use wasm-bindgen ${version}, the version in Cargo.lock: ` +
        'change its Cargo.toml and run "cargo update" there',
    );
  }
  return version;
}

/**
 * @param {string} crate
 * @param {string} folder of the lock
 */
async function lockedVersion(crate, folder) {
  const lock = await readFile(join(root, folder, 'Cargo.lock'), 'utf8');
  const version = lock.match(new RegExp(`name = "${crate}"\\nversion = "(.+)"`))?.[1];
  if (version === undefined)
    throw new Error(`the Cargo.lock of ${folder} names no version of ${crate}`);
  return version;
}

const tools = join('tools', 'wasm-bindgen');

await main(import.meta.url, testRunner);
