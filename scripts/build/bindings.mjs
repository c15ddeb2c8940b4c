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
  await guarded(`${folder}/${name}.js`);
}

/**
 * Lets the caller of `__wbg_live` stand between the generated bindings and each instance of their
 * module: all calls go through the exports that its `guard` answers, and what an object of a former
 * instance is asked is its `stale` error. `free` of such an object does nothing, since its memory
 * is gone; the generator leaves that check out.
 * @param {string} script of the bindings
 */
async function guarded(script) {
  const [code, types] = [join(root, script), join(root, script.replace(/js$/, 'd.ts'))];
  let text = await readFile(code, 'utf8');
  for (const [pattern, replacement] of guards) {
    if (!pattern.test(text))
      throw new Error(
        `${script} has nothing like ${pattern}: the generator writes it otherwise now`,
      );
    text = text.replaceAll(pattern, replacement);
  }
  await writeFile(code, text + live);
  await writeFile(types, (await readFile(types, 'utf8')) + liveTypes);
}

/** @type {[RegExp, string][]} */
const guards = [
  [/\bwasm = (instance|wasmInstance)\.exports;/g, 'wasm = __wbg_life.guard($1.exports);'],
  [
    /throw new Error\('Invalid stale object from previous Wasm instance'\);/g,
    'throw __wbg_life.stale();',
  ],
  [
    /( +)free\(\) \{\n +const ptr = this\.__destroy_into_raw\(\);\n/g,
    '$&$1    if (this.__wbg_inst !== undefined && this.__wbg_inst !== __wbg_instance_id) return;\n',
  ],
];

const live = `
let __wbg_life = {
    guard: (exports) => exports,
    stale: () => new Error('Invalid stale object from previous Wasm instance'),
};
export function __wbg_live(life) {
    __wbg_life = life;
}
`;

const liveTypes = `
/** To be called before the module is loaded. */
export function __wbg_live(life: { guard(exports: WebAssembly.Exports): WebAssembly.Exports; stale(): Error }): void;
`;
