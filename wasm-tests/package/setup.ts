import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';

/** Packs the package and installs it in a new project, once: each file of tests has a copy. */
export default async function installOnce(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-packed-'));
  await cp(join(root, 'wasm-tests', 'package', 'project'), folder, { recursive: true });
  const tarball = await packed(folder);
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
  });
  project.provide('installed', { folder, tarball, files: await filesOf(tarball) });
  return () => rm(folder, { recursive: true, force: true });
}

/** Returns the tarball of a release (`PACKAGE_TARBALL`), or packs one into the folder. */
async function packed(folder: string): Promise<string> {
  const released = process.env['PACKAGE_TARBALL'];
  if (released !== undefined) return released;
  const [report] = JSON.parse(await run('npm', ['pack', '--json', '--pack-destination', folder]));
  return join(folder, report.filename);
}

async function filesOf(tarball: string): Promise<string[]> {
  const listing = await run('tar', ['-tzf', tarball]);
  return listing
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A project that has installed the package; the tarball, and the files in it. */
    installed: { folder: string; tarball: string; files: string[] };
  }
}
