import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/** Copies the repository with its uncommitted changes and its dependencies, without a build. */
export async function clone(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-clone-'));
  const files = await run('git', [
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
    '--deduplicate',
  ]);
  for (const file of files.split('\0').filter((name) => name !== '')) await copy(file, folder);
  // The tests do not cover the installation of dependencies.
  for (const name of ['node_modules', '.tools', 'target'])
    await symlink(join(root, name), join(folder, name));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Copies a file, unless it was deleted without a commit, so that git still lists it. */
async function copy(file: string, folder: string): Promise<void> {
  await cp(join(root, file), join(folder, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
