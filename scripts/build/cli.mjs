import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../process/project.mjs';

/**
 * Bundles the command and its libraries into one script, so that the package has no dependencies
 * for it.
 */
export async function buildCli() {
  // A fresh clone has no packages yet when this file is loaded.
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: ['js/cli/main.ts'],
    outfile: 'dist/cli/mcp-listen.js',
    bundle: true,
    // Otherwise the comments of the script name the folder to which a link to node_modules leads.
    preserveSymlinks: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: '#!/usr/bin/env node' },
    define: { BUILT_IN: JSON.stringify(await builtIn()) },
    logLevel: 'warning',
  });
  await writeFile(
    join(root, 'dist/cli/licenses.md'),
    (await Promise.all(bundled.map(license))).join('\n'),
  );
}

/** See js/cli/built-in.ts. */
async function builtIn() {
  const { version, devDependencies } = JSON.parse(await text('package.json'));
  const { engines } = JSON.parse(await text('node_modules/wrangler/package.json'));
  /** @param {string[]} names */
  const ranges = (names) =>
    Object.fromEntries(names.map((name) => [name, `^${devDependencies[name]}`]));
  const files = await Promise.all(
    template.map(async (name) => [name, await text(`examples/worker/${name}`)]),
  );
  return {
    version,
    dependencies: { ...ranges(['@modelcontextprotocol/server']), 'mcp-listen': `^${version}` },
    devDependencies: ranges(['@cloudflare/workers-types', 'typescript', 'wrangler']),
    wranglerNode: engines.node.replace('>=', ''),
    template: Object.fromEntries(files),
  };
}

/** @param {string} name of a package */
async function license(name) {
  const file = name === 'jsonc-parser' ? 'LICENSE.md' : 'LICENSE';
  return `# ${name}\n\n${await text(`node_modules/${name}/${file}`)}`;
}

/** @param {string} path */
function text(path) {
  return readFile(join(root, path), 'utf8');
}

const bundled = ['diff', 'eventsource-parser', 'jsonc-parser', 'smol-toml'];
const template = ['env.d.ts', 'worker.ts', 'wrangler.toml'];
