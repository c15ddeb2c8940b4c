import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { digest } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { cargoBin, root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

/**
 * Compiles the program that writes the bindings of a WebAssembly module, unless the locked version
 * is there.
 * @returns {Promise<import('../process/side-by-side.mjs').Part | undefined>}
 */
export async function bindingsTool() {
  return missing('wasm-bindings', []);
}

/** Compiles the runner of tests in WebAssembly, unless it is there: the lanes that need it do. */
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
  const isOfThem = (await readFile(stampOf(program), 'utf8').catch(() => '')) === sources;
  if (isOfThem && installed.trim() === `${program} ${version}`) return undefined;
  const label = `Compiling ${program} ${version}, once`;
  const work = async () => {
    await install(features);
    await writeFile(stampOf(program), sources);
  };
  return { name: 'wasm-bindings', label, work };
}

/**
 * Says of which sources a program was compiled. Beside the program, which several clones may share.
 * @param {string} program
 */
function stampOf(program) {
  return join(cargoBin, `${program}.sources`);
}

/**
 * By a lock of their own. Unoptimised: they take half as long to compile, and a second more in each
 * build.
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

/** The version of wasm-bindgen in the lock of the core, which has to be that of the tools. */
async function agreedVersion() {
  const version = await lockedVersion('wasm-bindgen', '.');
  for (const crate of ['wasm-bindgen-cli', 'wasm-bindgen-cli-support']) {
    if ((await lockedVersion(crate, tools)) === version) continue;
    throw new Error(
      `tools/wasm-bindgen is not of wasm-bindgen ${version}, as Cargo.lock is: change its Cargo.toml, and "cargo update" there`,
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
