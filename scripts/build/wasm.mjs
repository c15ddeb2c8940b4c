import { readFile } from 'node:fs/promises';

/**
 * Returns the imports of a built core that its bindings do not provide; a core that uses nothing
 * of its host has none.
 * @param {string} path of the .wasm file
 * @returns {Promise<string[]>}
 */
export async function foreignImports(path) {
  const imports = WebAssembly.Module.imports(await WebAssembly.compile(await readFile(path)));
  return imports
    .filter(({ module }) => !OWN_BINDINGS.test(module))
    .map(({ module, name }) => `${module}.${name}`);
}

const OWN_BINDINGS = /^\.\/mcp_listen(_client|_events)?_bg\.js$/;
