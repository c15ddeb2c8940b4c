import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/** A project that has installed what npm would publish. */
export interface Installed {
  folder: string;
  tarball: string;
  /** The files in the tarball. */
  files: string[];
  remove(): Promise<void>;
}

/** Packs the package and installs it in a new project. */
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
 * The tarball of a release (`PACKAGE_TARBALL`), or one that is packed into the folder.
 */
export async function packed(folder: string): Promise<string> {
  const released = process.env['PACKAGE_TARBALL'];
  if (released !== undefined) return released;
  const [report] = JSON.parse(await run('npm', ['pack', '--json', '--pack-destination', folder]));
  return join(folder, report.filename);
}
