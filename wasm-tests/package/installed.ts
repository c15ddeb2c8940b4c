import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A project that has installed what npm would publish. */
export interface Installed {
  folder: string;
  tarball: string;
  /** The files in the tarball. */
  files: string[];
  remove(): Promise<void>;
}

/** Copies the project in which the package was installed. */
export async function installed(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-package-'));
  const once = inject('installed');
  await cp(once.folder, folder, { recursive: true, verbatimSymlinks: true });
  return { ...once, folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
