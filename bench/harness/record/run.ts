import { loadavg } from 'node:os';
import { run } from '../../../scripts/process/command.mjs';
import type { Run } from '../outcome.ts';

/** Describes the run that begins now, after waiting `waited` seconds for a lower load. */
export async function thisRun(args: string[], waited = 0): Promise<Run> {
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  return {
    at: new Date().toISOString(),
    commit: await commit(),
    command,
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
    ...(waited > 0 ? { waited } : {}),
  };
}

/** The commit, with a `+` if measured files differ from it. Results and pages may differ. */
async function commit(): Promise<string> {
  const head = (await run('git', ['rev-parse', '--short=10', 'HEAD'])).trim();
  const changed = await run('git', [
    'status',
    '--porcelain',
    '--untracked-files=no',
    '--',
    ...MEASURED,
  ]);
  return changed === '' ? head : `${head}+`;
}

const MEASURED = [
  ...['src', 'bindings', 'js', 'console', 'bench/*.ts', 'bench/*.rs', 'bench/*.py', 'bench/*.toml'],
  ...['Cargo.lock', 'package-lock.json'],
];
