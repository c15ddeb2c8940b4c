import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../process/project.mjs';

/** @typedef {import('vite').Rolldown.RolldownOutput} Output */

/**
 * Builds the page of the console from console/, the browser client and the packages that these
 * import. Writes its files to page/ as a module, which `mcp-listen/console` serves, and the
 * licenses of the packages beside it.
 * @param {string} base the folder that contains console/ and pkg/
 */
export async function buildConsole(base = root) {
  const folder = join(base, 'page');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { output } = await bundled(base);
  const files = Object.fromEntries(output.map((file) => [file.fileName, contentOf(file)]));
  await writeFile(join(folder, 'index.js'), `export const files = ${JSON.stringify(files)};\n`);
  const licenses = output.find(({ fileName }) => fileName === LICENSES);
  if (licenses?.type !== 'asset') throw new Error('the build of the console lists no licenses');
  await writeFile(join(folder, LICENSES), licenses.source);
}

/**
 * Bundles the page. Code that is loaded later, such as the official client, is in separate files.
 * The name of each file but the page contains a digest of its content.
 * @param {string} base
 * @returns {Promise<Output>}
 */
async function bundled(base) {
  // A fresh clone has no packages yet when this file is loaded.
  const { build } = await import('vite');
  const result = await build({
    root: join(base, 'console'),
    base: './',
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2023',
      cssTarget: 'esnext',
      license: { fileName: LICENSES },
      ...{ assetsDir: '', assetsInlineLimit: 0 },
      rolldownOptions: {
        // The official client declares its schemas by calls of zod that have no other effect.
        treeshake: { manualPureFunctions: ['z'] },
        output: {
          entryFileNames: 'console-[hash].js',
          chunkFileNames: '[name]-[hash].js',
          assetFileNames: '[name]-[hash][extname]',
        },
      },
    },
  });
  return /** @type {Output} */ (result);
}

/**
 * Returns a file as text, or as base64 if it is not text.
 * @param {Output['output'][number]} file
 * @returns {{ text: string } | { base64: string }}
 */
function contentOf(file) {
  if (file.type === 'chunk') return { text: file.code };
  if (typeof file.source === 'string') return { text: file.source };
  return { base64: Buffer.from(file.source).toString('base64') };
}

const LICENSES = 'licenses.md';
