import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder of the programs of npm packages, including the pinned Node. */
export const npmBin = join(root, 'node_modules', '.bin');

/** The folder of the programs that the set-up compiles with cargo. */
export const cargoBin = join(root, '.tools', 'bin');

/** The sources of the WebAssembly modules. */
export const crate = [
  'rust-toolchain.toml',
  'Cargo.toml',
  'Cargo.lock',
  'src',
  'bindings',
  'tools/wasm-bindgen',
];
