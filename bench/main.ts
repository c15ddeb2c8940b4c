import { join } from 'node:path';
import { main } from '../scripts/main.mjs';
import { root } from '../scripts/project.mjs';
import { against } from './harness/against.ts';
import { argumentsOf, type Options } from './harness/arguments.ts';
import { compare } from './harness/comparison.ts';
import type { Experiment } from './harness/experiment.ts';
import { thisMachine } from './harness/machine.ts';
import type { Outcome } from './harness/outcome.ts';
import { Progress } from './harness/progress.ts';
import { judged, load, save } from './harness/results.ts';
import { SIZES as IN_PROCESS, inProcess } from './in-process/experiments.ts';
import { SIZES as OVER_HTTP, overHttp } from './over-http/experiments.ts';
import { promiseTable } from './report/promise-table.ts';
import { report } from './report/report.ts';
import { sizes } from './size/experiments.ts';

/** Measures what was asked for, prints while it does, and writes results.json, RESULTS.md and the plots. */
async function bench(): Promise<void> {
  const options = argumentsOf(process.argv.slice(2));
  const folder = join(root, options.out);
  if (!options.isReportOnly) await measure(options, folder);
  await report(folder);
  process.stdout.write(`\n${options.out}/results.json, RESULTS.md and plots are written\n`);
}

async function measure(options: Options, folder: string): Promise<void> {
  const experiments = chosen(options);
  const before = options.against === undefined ? undefined : await load(options.against);
  const machine = await thisMachine();
  const progress = new Progress(experiments.length, (text) => process.stdout.write(text));
  const outcomes: Outcome[] = [];
  for (const experiment of experiments) {
    outcomes.push(await compare(experiment, progress));
    // What is measured is kept, whatever ends the run.
    await save(folder, judged(options.size, machine, outcomes));
  }
  const results = judged(options.size, machine, outcomes);
  if (Object.keys(results.verdicts).length > 0) process.stdout.write(`\n${promiseTable(results)}`);
  if (before !== undefined) process.stdout.write(`\n${against(outcomes, before.experiments)}`);
}

function chosen({ only, size }: Options): Experiment[] {
  const all = [...sizes(9), ...inProcess(IN_PROCESS[size]), ...overHttp(OVER_HTTP[size])];
  if (only === undefined) return all;
  const known = new Set(all.flatMap(({ name, proves }) => [name, ...proves]));
  const unknown = only.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new Error(`there is no ${unknown.join(', ')}; there is ${[...known].sort().join(', ')}`);
  return all.filter(({ name, proves }) => [name, ...proves].some((word) => only.includes(word)));
}

await main(import.meta.url, bench);
