import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

const crate = join('wasm-tests', 'interop', 'component', 'wasmtime');
const folder = join('target', 'component-check');
const program = join(folder, 'debug', 'component-check');

/** The host of the component in Rust, after {@link componentHost} has compiled it. */
export const hostProgram = join(root, program);

/** Compiles wasmtime with the host of the component, unless it is compiled: for minutes. */
export async function componentHost() {
  const paths = { inputs: ['rust-toolchain.toml', crate, 'wit'], outputs: [program] };
  await unlessFresh('component-host', paths, () => step('Compiling wasmtime, once', compile));
}

async function compile() {
  const paths = ['--manifest-path', join(crate, 'Cargo.toml'), '--target-dir', folder];
  await run('cargo', ['build', '--locked', ...paths], { env: environment });
}

await main(import.meta.url, componentHost);
