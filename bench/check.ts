import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { main } from '../scripts/process/main.mjs';
import { CHECKS, type Check, figureOf } from './harness/baseline.ts';
import { compare } from './harness/comparison.ts';
import { type Experiment, OURS } from './harness/experiment.ts';
import { figure } from './harness/number.ts';
import type { Outcome } from './harness/outcome.ts';
import { Progress } from './harness/terminal/progress.ts';
import { inProcess, SIZES } from './in-process/experiments.ts';
import { sizes } from './size/experiments.ts';

/**
 * Compares costs with the committed baselines, one TAP line each. With `--write`, replaces the
 * baselines by what it measures.
 */
async function check(): Promise<void> {
  const isWriting = process.argv.includes('--write');
  const baselines = isWriting
    ? {}
    : (JSON.parse(await readFile(FILE, 'utf8')) as Record<string, number>);
  const outcomes = await measure();
  const figures = CHECKS.map((each) => ({ check: each, figure: figureOf(each, outcomes) }));
  if (isWriting) {
    const entries = figures.map(({ check: { name }, figure: value }) => [
      name,
      Number(value?.toPrecision(3)),
    ]);
    await writeFile(FILE, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
    return;
  }
  const results = figures.map((each, index) =>
    verdict(index + 1, each, baselines[each.check.name]),
  );
  process.stdout.write(`\n${results.map(({ line }) => line).join('\n')}\n`);
  process.exitCode = results.every(({ passes }) => passes) ? 0 : 1;
}

/**
 * Measures times in {@link ATTEMPTS} attempts, whatever the first ones show, and what hardly varies
 * in one.
 */
async function measure(): Promise<Outcome[]> {
  const all = [...sizes(1), ...inProcess(SIZES.check)].flatMap(reduced);
  const timed = all.filter(({ metrics }) => metrics.some(({ id }) => id === 'cpu'));
  const attempts = [all, ...Array.from({ length: ATTEMPTS - 1 }, () => timed)].flat();
  const progress = new Progress(attempts.length, (text) => process.stdout.write(text));
  const outcomes: Outcome[] = [];
  for (const experiment of attempts) outcomes.push(await compare(experiment, progress));
  return outcomes;
}

/**
 * The experiment with only the contenders that a check compares, so that no other contender uses
 * the machine meanwhile. Empty if no check names the experiment.
 */
function reduced(experiment: Experiment): Experiment[] {
  const kinds = CHECKS.filter(({ experiment: name }) => name === experiment.name).map(
    ({ kind }) => kind,
  );
  if (kinds.length === 0) return [];
  const names = [OURS, ...kinds.flatMap((kind) => (typeof kind === 'string' ? [] : [kind.to]))];
  return [
    { ...experiment, entrants: experiment.entrants.filter(({ name }) => names.includes(name)) },
  ];
}

function verdict(
  number: number,
  { check: { name, tolerance }, figure: is }: { check: Check; figure: number | undefined },
  baseline: number | undefined,
): { passes: boolean; line: string } {
  if (is === undefined || baseline === undefined) {
    return {
      passes: false,
      line: `not ok ${number} - ${name}: ${is === undefined ? 'not measured' : 'no baseline'}`,
    };
  }
  const passes = is <= baseline * (1 + tolerance);
  const bound = `${figure(is)}, baseline ${figure(baseline)} + ${tolerance * 100} %`;
  // A baseline that is not lowered after an improvement would hide a later regression.
  const advice =
    is < baseline / (1 + tolerance)
      ? '\n  # far below the baseline: run `node bench/check.ts --write`'
      : '';
  return { passes, line: `${passes ? 'ok' : 'not ok'} ${number} - ${name}: ${bound}${advice}` };
}

/** Attempts for each experiment that measures times, each in new processes. */
const ATTEMPTS = 3;
const FILE = join(import.meta.dirname, 'baseline.json');

await main(import.meta.url, check);
