import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/command.mjs';
import { root } from '../../scripts/project.mjs';

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
  const [report] = JSON.parse(await run('npm', ['pack', '--json', '--pack-destination', folder]));
  const tarball = join(folder, report.filename);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder });
  return {
    folder,
    tarball,
    files: report.files.map((file: { path: string }) => file.path),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
