import { open, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { root } from '../../../scripts/process/project.mjs';
import { quantile } from '../statistics.ts';

/** The machine of a run, its time and the versions of what it measured. */
export interface Machine {
  date: string;
  cpu: string;
  cores: number;
  memoryGb: number;
  kernel: string;
  node: string;
  versions: Record<string, string>;
  /**
   * Median milliseconds of a small synced write to the folder of temporary files. Every publish on
   * workerd waits for such writes.
   */
  fsyncMs: number;
}

/** Describes this machine. */
export async function thisMachine(): Promise<Machine> {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    versions: await versions(),
    fsyncMs: Number((await fsyncMs()).toPrecision(3)),
  };
}

async function versions(): Promise<Record<string, string>> {
  const require = createRequire(import.meta.url);
  const ofPackage = (name: string) =>
    (require(join(root, 'node_modules', name, 'package.json')) as { version: string }).version;
  const python = await readFile(join(root, 'wasm-tests', 'interop', 'requirements.txt'), 'utf8');
  return {
    'TypeScript SDK': ofPackage('@modelcontextprotocol/server'),
    'Python SDK': python.match(/^mcp==(\S+)/m)?.[1] ?? 'unknown',
    workerd: ofPackage('workerd'),
  };
}

async function fsyncMs(): Promise<number> {
  const path = join(tmpdir(), `mcp-listen-fsync-${process.pid}`);
  const file = await open(path, 'w');
  const all: number[] = [];
  for (let time = 0; time < 20; time += 1) {
    const started = performance.now();
    await file.write('one small row');
    await file.sync();
    all.push(performance.now() - started);
  }
  await file.close();
  await rm(path);
  return quantile(all, 0.5);
}
