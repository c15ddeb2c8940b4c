import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

/** The folder where cargo leaves packed crates, and their files. */
const packed = join(root, 'target', 'package');

/**
 * Packs the crates of a copy of the repository, and compiles each from the files that it packs.
 * Returns the crate `mcp-listen`, in the folder `out`, after its tests have passed with its own
 * files.
 * @param {string} copy
 * @param {string} version
 * @param {string} out
 */
export async function packCrates(copy, version, out) {
  const packages = ['mcp-listen', 'mcp-listen-browser'].flatMap((name) => ['--package', name]);
  const dryRun = ['publish', '--dry-run', '--locked', '--target-dir', 'target', ...packages];
  await step('Packing the crates: cargo publish --dry-run', () =>
    run('cargo', dryRun, { cwd: copy }),
  );
  await packDependents(copy, version);
  const manifest = join(packed, `mcp-listen-${version}`, 'Cargo.toml');
  await step('Testing the crate: cargo test', () =>
    run('cargo', ['test', '--locked', '--manifest-path', manifest, '--target-dir', 'target']),
  );
  const crate = join(out, `mcp-listen-${version}.crate`);
  await cp(join(packed, `mcp-listen-${version}.crate`), crate);
  return crate;
}

/**
 * Packs the crates of tower and rmcp. Each needs one that the registry does not have yet: the files
 * that were packed of it take its place.
 * @param {string} copy
 * @param {string} version
 */
async function packDependents(copy, version) {
  /** @type {string[]} */
  const patches = [];
  for (const [folder, needed] of DEPENDENTS) {
    const path = JSON.stringify(join(packed, `${needed}-${version}`));
    patches.push('--config', `patch.crates-io.${needed}.path=${path}`);
    // A patch changes the lock of the folder, so neither is this clean nor can it be locked.
    const pack = ['package', '--allow-dirty', '--target-dir', 'target', ...patches];
    await step(`Packing the crate of ${folder}: cargo package`, () =>
      run('cargo', [...pack, '--manifest-path', join(folder, 'Cargo.toml')], { cwd: copy }),
    );
  }
}

/** @type {[folder: string, needed: string][]} */
const DEPENDENTS = [
  ['tower', 'mcp-listen'],
  ['rmcp', 'mcp-listen-tower'],
];
