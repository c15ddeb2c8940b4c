import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../process/project.mjs';

/**
 * Makes of console/ and of the browser client what the Worker serves at its root: a page, a script,
 * a style and the core. They lie in .build/console; the Worker takes texts from `.html` and `.txt`,
 * bytes from `.bin`.
 * @param {string} base the folder that holds console/ and pkg/
 */
export async function buildConsole(base = root) {
  const consoleFolder = join(base, '.build', 'console');
  await rm(consoleFolder, { recursive: true, force: true });
  await mkdir(consoleFolder, { recursive: true });
  const wasm = await readFile(join(base, core));
  const script = await bundled(base, 'console/main.ts', `/console.wasm?v=${digest(wasm)}`);
  const style = await bundled(base, 'console/style/main.css');
  const page = await readFile(join(base, 'console', 'index.html'), 'utf8');
  const named = page.replace('{{script}}', digest(script)).replace('{{style}}', digest(style));
  await writeFile(join(consoleFolder, 'index.html'), named);
  await writeFile(join(consoleFolder, 'script.txt'), script);
  await writeFile(join(consoleFolder, 'style.txt'), style);
  await writeFile(join(consoleFolder, 'core.bin'), wasm);
}

/**
 * @param {string} base
 * @param {string} entry
 * @param {string} [wasm] the address of the client's core
 */
async function bundled(base, entry, wasm = '') {
  // A fresh clone has no packages yet when this file is read.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: base,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2023',
    conditions: ['browser'],
    logLevel: 'warning',
    plugins: [addressOf(wasm)],
  });
  return outputFiles[0]?.text ?? '';
}

/**
 * The client names its core by a path beside its own, which a bundle has not: this puts its address
 * there.
 * @param {string} wasm
 * @returns {import('esbuild').Plugin}
 */
function addressOf(wasm) {
  return {
    name: 'address-of-the-core',
    setup(bundle) {
      bundle.onLoad({ filter: /client-browser\.[jt]s$/ }, async ({ path }) => {
        const own = await readFile(path, 'utf8');
        const contents = own.replace(
          /new URL\([^)]*\.wasm', import\.meta\.url\)/,
          JSON.stringify(wasm),
        );
        if (contents === own) throw new Error(`${path} names no core`);
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** @param {string | Buffer} content */
function digest(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 12);
}

const core = 'pkg/client/mcp_listen_client_bg.wasm';
