import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/** A project that has installed what npm would publish. */
export interface Installed {
  folder: string;
  tarball: string;
  /** What the tarball holds. */
  files: string[];
  remove(): Promise<void>;
}

/** Packs the package and installs it in a project of its own. */
export async function installed(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-package-'));
  await cp(join(root, 'wasm-tests', 'package', 'project'), folder, { recursive: true });
  const tarball = await packed(folder);
  const listing = await run('tar', ['-tzf', tarball]);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder });
  return {
    folder,
    tarball,
    files: listing
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, '')),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/**
 * The tarball that a release has made (`PACKAGE_TARBALL`), or else one that is packed into the
 * folder.
 */
export async function packed(folder: string): Promise<string> {
  const made = process.env['PACKAGE_TARBALL'];
  if (made !== undefined) return made;
  const [report] = JSON.parse(await run('npm', ['pack', '--json', '--pack-destination', folder]));
  return join(folder, report.filename);
}
