import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { crate, root } from '../process/project.mjs';
import { step } from '../process/step.mjs';
import { optimized, wasmEnvironment } from './build.mjs';

/** The folder of the component after {@link buildComponent}. */
export const componentFolder = join(root, '.build', 'component');

/** The component. */
export const componentFile = join(componentFolder, 'mcp-listen.wasm');

/** The JavaScript module that jco makes of the component, for Node. */
export const transpiledFile = join(componentFolder, 'node', 'mcp-listen.js');

/**
 * Returns the size of the built component, compressed with gzip -9, in kilobytes of 1,000 bytes.
 */
export async function componentSize() {
  return gzipSync(await readFile(componentFile), { level: 9 }).length / 1_000;
}

/** Builds the component of wit/, and its transpiled form for Node, unless they are up to date. */
export async function buildComponent() {
  await unlessFresh('component', { inputs, outputs: [relative(root, componentFolder)] }, () =>
    step('Building the component: cargo, wasm-opt, jco', build),
  );
}

async function build() {
  await run('cargo', compile, { env: await wasmEnvironment() });
  await rm(componentFolder, { recursive: true, force: true });
  await mkdir(componentFolder, { recursive: true });
  const core = join(componentFolder, 'core.wasm');
  await optimized(compiled, core);
  // A fresh clone has no packages yet when this file is loaded.
  const { transpileBytes } = await import('@bytecodealliance/jco-transpile');
  const { componentNew } = await import('@bytecodealliance/jco-transpile/wasm-tools');
  const component = await componentNew(await readFile(core));
  await rm(core);
  await writeFile(componentFile, component);
  const { files, imports } = await transpileBytes(component, { name: 'mcp-listen' });
  if (imports.length > 0) throw new Error(`the component imports ${imports.join(', ')}`);
  for (const [name, content] of Object.entries(files))
    await write(join(dirname(transpiledFile), name), content);
}

/**
 * @param {string} file
 * @param {Uint8Array} content
 */
async function write(file, content) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

const compile = [
  ...['build', '--release', '--locked', '--package', 'mcp-listen-component'],
  ...['--target', 'wasm32-unknown-unknown', '--target-dir', 'target'],
  ...['--config', 'profile.release.package.mcp-listen-component.opt-level="z"'],
];
const compiled = 'target/wasm32-unknown-unknown/release/mcp_listen_component.wasm';
const inputs = [
  'scripts/build/component.mjs',
  'scripts/build/build.mjs',
  'package-lock.json',
  'component',
  'wit',
  ...crate,
];

await main(import.meta.url, async () => {
  await buildComponent();
  const size = (await componentSize()).toFixed(1);
  process.stdout.write(`${relative(root, componentFile)}: ${size} KB of gzip\n`);
});
