import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../process/project.mjs';

/**
 * Builds the page of the console from console/ and the browser client: HTML, a script, a style
 * sheet and the core. Writes them to page/ as a module, which `mcp-listen/console` serves.
 * @param {string} base the folder that contains console/ and pkg/
 */
export async function buildConsole(base = root) {
  const folder = join(base, 'page');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const wasm = await readFile(join(base, core));
  const script = await bundled(base, 'console/main.ts', `./console.wasm?v=${digest(wasm)}`);
  const style = await bundled(base, 'console/style/main.css');
  const page = await readFile(join(base, 'console', 'index.html'), 'utf8');
  const html = page.replace('{{script}}', digest(script)).replace('{{style}}', digest(style));
  const files = { html, script, style, core: wasm.toString('base64') };
  const lines = Object.entries(files).map(
    ([name, text]) => `export const ${name} = ${JSON.stringify(text)};\n`,
  );
  await writeFile(join(folder, 'index.js'), lines.join(''));
}

/**
 * @param {string} base
 * @param {string} entry
 * @param {string} [wasm] the URL of the client's core
 */
async function bundled(base, entry, wasm = '') {
  // A fresh clone has no packages yet when this file is loaded.
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
 * Replaces the URL of the client's core: the client refers to it relative to its own file, which
 * does not exist in a bundle.
 * @param {string} wasm
 * @returns {import('esbuild').Plugin}
 */
function addressOf(wasm) {
  return {
    name: 'address-of-the-core',
    setup(bundle) {
      bundle.onLoad({ filter: /client-browser\.[jt]s$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const contents = source.replace(
          /new URL\([^)]*\.wasm', import\.meta\.url\)/,
          JSON.stringify(wasm),
        );
        if (contents === source) throw new Error(`${path} contains no URL of the core`);
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
