import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

const crate = join('wasm-tests', 'interop', 'rmcp');
const folder = join('target', 'rmcp');
const program = join(folder, 'debug', 'rmcp-client');

/** The client of the official Rust SDK, after {@link rmcpClient} has compiled it. */
export const rmcpProgram = join(root, program);

/** Compiles the client of the official Rust SDK, unless it is compiled. */
export async function rmcpClient() {
  const paths = { inputs: ['rust-toolchain.toml', crate], outputs: [program] };
  await unlessFresh('rmcp', paths, () => step('Compiling the Rust SDK, once', compile));
}

/** Compiles without debug information, which nothing uses. */
async function compile() {
  const paths = ['--manifest-path', join(crate, 'Cargo.toml'), '--target-dir', folder];
  const profile = { CARGO_PROFILE_DEV_DEBUG: 'false', CARGO_PROFILE_DEV_INCREMENTAL: 'false' };
  await run('cargo', ['build', '--locked', ...paths], { env: { ...environment, ...profile } });
}

await main(import.meta.url, rmcpClient);
