import { readFile } from 'node:fs/promises';

/**
 * The imports of a built core that its own bindings do not provide; a core that touches nothing of
 * its host has none.
 * @param {string} path of the .wasm file
 * @returns {Promise<string[]>}
 */
export async function foreignImports(path) {
  const imports = WebAssembly.Module.imports(await WebAssembly.compile(await readFile(path)));
  return imports
    .filter(({ module }) => !ownBindings.test(module))
    .map(({ module, name }) => `${module}.${name}`);
}

const ownBindings = /^\.\/mcp_listen(_client|_events)?_bg\.js$/;
