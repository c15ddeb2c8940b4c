import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { ProcessorWatch } from '../host/processor.ts';

/** A revision for which the suite has a frozen set of requirements. */
export type Revision = '2026-07-28' | '2025-11-25';

/** A check of the suite, and its outcome. */
export interface Check {
  id: string;
  /** The title of the check. */
  name: string;
  status: string;
  errorMessage?: string;
}

/** The scenarios of a revision for servers. */
export interface RequirementSet {
  /** The scenarios that the verdict of the suite depends on. */
  scored: string[];
  /** The scenarios that the suite runs and reports beside them. */
  unscored: string[];
  /** The scenarios of extensions, which are optional for servers. */
  extensions: string[];
}

/** Reads the requirements of the suite for servers of a revision. */
export async function requirementSet(revision: Revision): Promise<RequirementSet> {
  const folder = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'requirements');
  const text = await readFile(join(folder, `${revision}.yaml`), 'utf8');
  const scored = text.match(/^server:\n((?: {2}- .+\n)+)/m)?.[1] ?? '';
  const unscored = [...text.matchAll(/- scenario: (\S+)\n +leg: server\n +reason: (\S+)/g)];
  return {
    scored: [...scored.matchAll(/^ {2}- (\S+)$/gm)].map(([, name = '']) => name),
    unscored: unscored.flatMap(([, name = '', reason]) => (reason === 'extension' ? [] : [name])),
    extensions: unscored.flatMap(([, name = '', reason]) => (reason === 'extension' ? [name] : [])),
  };
}

/** The outcome of a run of the suite. */
export interface Run {
  /** `passed`, or what the suite printed. */
  verdict: string;
  /** The checks by scenario. */
  checks: Map<string, Check[]>;
  /** Milliseconds that the suite or the process of its server waited for a processor. */
  waitedMs: number;
}

/**
 * Runs the requirement set of a revision against the server at `url`, in the process `pid`. The
 * suite fails where a scored check fails or warns outside the scenarios in `failures`, or where one
 * of these passes.
 */
export async function requirements(
  url: string,
  revision: Revision,
  failures: string[],
  pid?: number,
): Promise<Run> {
  const { scored } = await requirementSet(revision);
  const expected = scored.filter((name) => failures.includes(name));
  return await inFolder(async (folder) => {
    const file = join(folder, 'expected-failures.yml');
    await writeFile(file, JSON.stringify({ server: expected }));
    const args = ['--url', url, '--requirements', revision, '--expected-failures', file];
    return await suite(folder, ['server', ...args], pid);
  });
}

/**
 * Runs one scenario, also one of an extension, against the server at `url`, in the process `pid`,
 * as a client of a revision.
 */
export async function scenario(
  url: string,
  name: string,
  revision: Revision,
  pid?: number,
): Promise<Run> {
  const args = ['--url', url, '--scenario', name, '--spec-version', revision, '--force'];
  return await inFolder((folder) => suite(folder, ['server', ...args], pid));
}

/** Runs one scenario of a revision against the client that `command` starts. */
export async function clientScenario(
  command: string,
  name: string,
  revision: Revision,
): Promise<Run> {
  const args = ['--command', command, '--scenario', name, '--spec-version', revision];
  return await inFolder((folder) => suite(folder, ['client', ...args]));
}

/** The checks that a scenario did not pass; remarks, which the suite calls INFO, do not count. */
export function shortcomings(checks: Check[]): string[] {
  const short = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
  if (short.length > 0)
    return short.map(({ id, status, errorMessage = '' }) => `${status} ${id}: ${errorMessage}`);
  return checks.some(({ id, status }) => status === 'SUCCESS' && id !== SCHEMA)
    ? []
    : ['nothing was checked'];
}

/** The checks of these scenarios that have passed, one line each. */
export function passed(scenarios: string[], checks: Run['checks']): string {
  const lines = scenarios.flatMap((name) =>
    (checks.get(name) ?? [])
      .filter(({ status }) => status === 'SUCCESS')
      .map(({ id }) => `${name} ${id}`),
  );
  return `${[...new Set(lines)].sort().join('\n')}\n`;
}

/**
 * The numbers of these scenarios and of their checks that have passed, as JSON, with the names of
 * the scenarios that have not.
 */
export function counted(scenarios: string[], checks: Run['checks']): string {
  const of = (name: string) => checks.get(name) ?? [];
  const all = scenarios.flatMap(of).map(({ status }) => status);
  const failed = scenarios.filter((name) => shortcomings(of(name)).length > 0);
  const count = {
    scenarios: { passed: scenarios.length - failed.length, failed },
    checks: {
      passed: all.filter((status) => status === 'SUCCESS').length,
      failed: all.filter((status) => status === 'FAILURE' || status === 'WARNING').length,
    },
  };
  return `${JSON.stringify(count, null, 2)}\n`;
}

async function suite(folder: string, args: string[], serverPid?: number): Promise<Run> {
  const processor = new ProcessorWatch();
  if (serverPid !== undefined) processor.add(serverPid);
  const onSpawn = (pid: number) => processor.add(pid);
  const verdict = await run('conformance', [...args, '-o', folder], { onSpawn }).then(
    () => 'passed',
    (error: Error) => error.message,
  );
  const waitedMs = await processor.stop();
  const files = (await readdir(folder, { recursive: true })).filter((path) =>
    path.endsWith('checks.json'),
  );
  return {
    verdict,
    checks: new Map(await Promise.all(files.map((file) => checksIn(folder, file)))),
    waitedMs,
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The suite names its folders `server-SCENARIO-TIME`, those of clients `SCENARIO-TIME`. */
async function checksIn(folder: string, file: string): Promise<[string, Check[]]> {
  const name = file.match(/^(?:server-)?(.+?)-\d{4}-\d\d-\d\dT[^/]*\//)?.[1] ?? file;
  return [name, JSON.parse(await readFile(join(folder, file), 'utf8')) as Check[]];
}

/** The suite adds this to every scenario in which it saw a message. */
const SCHEMA = 'wire-schema-valid';
