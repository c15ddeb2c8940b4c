import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/**
 * Writes `.build/planted`: the core with the bugs that the model checker has to find, each behind
 * a feature switch. They are stored as one patch, so that the released core contains none of them.
 * `--write` updates the patch from the changes in that folder.
 */
async function planted() {
  if (process.argv.includes('--write')) return write();
  await unlessFresh(
    'planted',
    {
      inputs: ['scripts/mutants/planted.mjs', 'Cargo.toml', 'Cargo.lock', 'src', patch],
      outputs: [join(folder, 'src')],
    },
    plant,
  );
}

async function plant() {
  const copy = join(root, folder);
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true });
  for (const path of ['src', 'Cargo.lock'])
    await cp(join(root, path), join(copy, path), { recursive: true, preserveTimestamps: true });
  for (const path of ['bench', 'docs', 'wasm-tests'])
    await symlink(join(root, path), join(copy, path));
  const manifest = await readFile(join(root, 'Cargo.toml'), 'utf8');
  const alone = manifest.replace(/^members = .*$/m, 'members = []');
  await writeFile(join(copy, 'Cargo.toml'), `${alone}\n[features]\nplanted = []\n`);
  // Hunks that no longer apply become *.rej files: apply them by hand, then run `--write`.
  await run('git', ['apply', '--reject', '--whitespace=nowarn', `--directory=${folder}`, patch]);
}

async function write() {
  const difference = `git diff --no-index --no-color src ${folder}/src`;
  // The status is 1 if there is a difference.
  const changes = await run('sh', ['-c', `${difference} || test $? = 1`]);
  await writeFile(join(root, patch), changes.replaceAll(`/${folder}/src/`, '/src/'));
}

const folder = join('.build', 'planted');
const patch = 'wasm-tests/model/planted.patch';

await main(import.meta.url, planted);
