import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/**
 * The repository as it would be cloned, changes included; with what is installed, and nothing that
 * is built.
 */
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
  for (const file of files.split('\0').filter((name) => name !== '')) await copied(file, folder);
  // Compiled dependencies are no part of what is tried.
  for (const name of ['node_modules', '.tools', 'target'])
    await symlink(join(root, name), join(folder, name));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** A file that was deleted and not committed is listed, and not there. */
async function copied(file: string, folder: string): Promise<void> {
  await cp(join(root, file), join(folder, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
