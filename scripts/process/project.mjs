import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where npm puts the programs of the pinned packages, the pinned Node among them. */
export const npmBin = join(root, 'node_modules', '.bin');

/** Where set-up puts the programs that cargo compiles. */
export const cargoBin = join(root, '.tools', 'bin');

/** What the WebAssembly is compiled from. */
export const crate = [
  'rust-toolchain.toml',
  'Cargo.toml',
  'Cargo.lock',
  'src',
  'bindings',
  'tools/wasm-bindgen',
];
