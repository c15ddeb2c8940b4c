import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../process/command.mjs';
import { root } from '../process/project.mjs';

/**
 * @typedef {object} Metadata what `cargo metadata` prints
 * @property {{ id: string, name: string, version: string, manifest_path: string,
 *   targets: { kind: string[] }[] }[]} packages
 * @property {{ nodes: { id: string, deps: { pkg: string, dep_kinds: { kind: string | null }[] }[]
 *   }[] }} resolve
 */

/**
 * Writes the licenses of the crates whose code is in the WebAssembly modules. Only the crates that
 * run while something is compiled are left out.
 * @param {string} file
 */
export async function writeLicenses(file) {
  const args = ['--format-version', '1', '--locked', '--filter-platform', 'wasm32-unknown-unknown'];
  /** @type {Metadata} */
  const { packages, resolve } = JSON.parse(await run('cargo', ['metadata', ...args]));
  const compiled = new Set(packages.filter(isCompiledIn).map(({ id }) => id));
  const found = new Set(packages.filter(({ name }) => name === BINDINGS).map(({ id }) => id));
  for (const id of found) {
    const deps = resolve.nodes.find((node) => node.id === id)?.deps ?? [];
    for (const { dep_kinds: kinds, pkg } of deps)
      if (compiled.has(pkg) && kinds.some(({ kind }) => kind === null)) found.add(pkg);
  }
  const foreign = packages.filter(
    ({ id, name }) => found.has(id) && !name.startsWith('mcp-listen'),
  );
  foreign.sort((one, other) => (one.name < other.name ? -1 : 1));
  await writeFile(join(root, file), (await Promise.all(foreign.map(license))).join('\n'));
}

/** @param {Metadata['packages'][number]} of */
function isCompiledIn({ targets }) {
  return targets.every(({ kind }) => !kind.includes('proc-macro'));
}

/** @param {Metadata['packages'][number]} of */
async function license({ name, version, manifest_path: manifest }) {
  const folder = dirname(manifest);
  const names = await readdir(folder);
  // Where there is a choice of licenses, we take MIT.
  const file = ['LICENSE-MIT', 'LICENSE'].find((candidate) => names.includes(candidate));
  if (file === undefined) throw new Error(`the crate ${name} contains no license that is known`);
  return `# ${name} ${version}\n\n${await readFile(join(folder, file), 'utf8')}`;
}

const BINDINGS = 'mcp-listen-bindings';
