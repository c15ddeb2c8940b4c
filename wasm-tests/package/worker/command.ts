import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { type Installed, installed } from '../installed.ts';
import type { Files } from './fresh.ts';

/** Installs the package, and runs its command in projects, for a file of tests. */
export function useCommand() {
  let npm: Installed;

  beforeAll(async () => {
    npm = await installed();
  });

  afterAll(() => npm.remove());

  /** Writes a project of these files, beside the installed package. */
  async function projectOf(files: Files): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-init-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await symlink(join(npm.folder, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }

  function command(folder: string, ...args: string[]): Promise<string> {
    return run(join(npm.folder, 'node_modules', '.bin', 'mcp-listen'), args, { cwd: folder });
  }

  /** Runs `init`, which asks nothing. */
  function init(folder: string, ...args: string[]): Promise<string> {
    return command(folder, 'init', '--yes', ...args);
  }

  return { command, init, npm: () => npm, projectOf };
}

/** The files of a project by their paths. */
export async function contents(folder: string): Promise<Files> {
  const paths = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const read = paths.map(async ({ name, parentPath }): Promise<[string, string]> => {
    const path = join(parentPath, name);
    return [path.slice(folder.length + 1), await readFile(path, 'utf8')];
  });
  return Object.fromEntries(await Promise.all(read));
}
