import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { main } from '../scripts/main.mjs';
import { CHECKS, type Check, checked } from './harness/baseline.ts';
import { compare } from './harness/comparison.ts';
import { figure } from './harness/number.ts';
import type { Outcome } from './harness/outcome.ts';
import { Progress } from './harness/progress.ts';
import { inProcess, SIZES } from './in-process/experiments.ts';
import { sizes } from './size/experiments.ts';

/** Compares costs with the committed baselines, one TAP line each; with `--write`, writes the baselines anew. */
async function check(): Promise<void> {
  const outcomes = await measured();
  const figures = CHECKS.map((each) => ({ check: each, figure: checked(each, outcomes) }));
  if (process.argv.includes('--write')) {
    const entries = figures.map(({ check: { name }, figure: value }) => [name, Number(value?.toPrecision(3))]);
    await writeFile(FILE, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
    return;
  }
  const baselines = JSON.parse(await readFile(FILE, 'utf8')) as Record<string, number>;
  const results = figures.map((each, index) => verdict(index + 1, each, baselines[each.check.name]));
  process.stdout.write(`\n${results.map(({ line }) => line).join('\n')}\n`);
  process.exitCode = results.every(({ passes }) => passes) ? 0 : 1;
}

async function measured(): Promise<Outcome[]> {
  const wanted = new Set(CHECKS.map(({ experiment }) => experiment));
  const experiments = [...sizes(1), ...inProcess(SIZES.check)].filter(({ name }) => wanted.has(name));
  const progress = new Progress(experiments.length, (text) => process.stdout.write(text));
  const outcomes: Outcome[] = [];
  for (const experiment of experiments) outcomes.push(await compare(experiment, progress));
  return outcomes;
}

function verdict(
  number: number,
  { check: { name, tolerance }, figure: is }: { check: Check; figure: number | undefined },
  baseline: number | undefined,
): { passes: boolean; line: string } {
  if (is === undefined || baseline === undefined) {
    return { passes: false, line: `not ok ${number} - ${name}: ${is === undefined ? 'not measured' : 'no baseline'}` };
  }
  const passes = is <= baseline * (1 + tolerance);
  const bound = `${figure(is)}, baseline ${figure(baseline)} + ${tolerance * 100} %`;
  // The baselines follow what has become better, or it could get worse again unseen.
  const advice = is < baseline / (1 + tolerance) ? '\n  # far better: write it with `node bench/check.ts --write`' : '';
  return { passes, line: `${passes ? 'ok' : 'not ok'} ${number} - ${name}: ${bound}${advice}` };
}

const FILE = join(import.meta.dirname, 'baseline.json');

await main(import.meta.url, check);
