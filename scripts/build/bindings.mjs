import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { root } from '../process/project.mjs';

/**
 * Writes the bindings of a compiled module.
 * @param {string} compiled
 * @param {string} folder
 * @param {string} name of its files
 */
export async function writeBindings(compiled, folder, name) {
  await run('wasm-bindings', [compiled, folder, name]);
  await addGuard(`${folder}/${name}.js`);
}

/**
 * Adds `__wbg_set_guard` to the generated bindings. All calls then go through the exports that
 * `guard` returns for each instance of the module, and calls of an object of an earlier instance
 * throw the error of `stale`. `free` of such an object does nothing, since its memory is gone: the
 * generator omits that check.
 * @param {string} script of the bindings
 */
async function addGuard(script) {
  const [code, types] = [join(root, script), join(root, script.replace(/js$/, 'd.ts'))];
  let text = await readFile(code, 'utf8');
  for (const [pattern, replacement] of guards) {
    if (!pattern.test(text))
      throw new Error(
        `${script} does not match ${pattern}: the output of the generator has changed`,
      );
    text = text.replaceAll(pattern, replacement);
  }
  await writeFile(code, text + setGuard);
  await writeFile(types, (await readFile(types, 'utf8')) + setGuardTypes);
}

/** @type {[RegExp, string][]} */
const guards = [
  [/\bwasm = (instance|wasmInstance)\.exports;/g, 'wasm = __wbg_guard.guard($1.exports);'],
  [
    /throw new Error\('Invalid stale object from previous Wasm instance'\);/g,
    'throw __wbg_guard.stale();',
  ],
  [
    /( +)free\(\) \{\n +const ptr = this\.__destroy_into_raw\(\);\n/g,
    '$&$1    if (this.__wbg_inst !== undefined && this.__wbg_inst !== __wbg_instance_id) return;\n',
  ],
];

const setGuard = `
let __wbg_guard = {
    guard: (exports) => exports,
    stale: () => new Error('Invalid stale object from previous Wasm instance'),
};
export function __wbg_set_guard(guard) {
    __wbg_guard = guard;
}
`;

const setGuardTypes = `
/** Has to be called before the module is loaded. */
export function __wbg_set_guard(guard: {
    guard(exports: WebAssembly.Exports): WebAssembly.Exports;
    stale(): Error;
}): void;
`;
