import { join } from 'node:path';
import { main } from '../scripts/process/main.mjs';
import { root } from '../scripts/process/project.mjs';
import { SIZES as CONSOLE, consolePage } from './console/experiments.ts';
import { core } from './core/experiments.ts';
import { argumentsOf, type Options } from './harness/arguments.ts';
import { compare } from './harness/comparison.ts';
import type { Experiment } from './harness/experiment.ts';
import type { Outcome } from './harness/outcome.ts';
import { failures, gaps } from './harness/record/flaws.ts';
import { untilIdle } from './harness/record/idle.ts';
import { thisMachine } from './harness/record/machine.ts';
import { judged, loadFrom, merged, type Results, save } from './harness/record/results.ts';
import { thisRun } from './harness/record/run.ts';
import { against } from './harness/terminal/against.ts';
import { Progress } from './harness/terminal/progress.ts';
import { SIZES as IN_PROCESS, inProcess } from './in-process/experiments.ts';
import { SIZES as OVER_HTTP, overHttp } from './over-http/experiments.ts';
import { promiseTable } from './report/promise-table.ts';
import { report } from './report/report.ts';
import { sizes } from './size/experiments.ts';
import { SIZES as WEBHOOKS, webhooks } from './webhooks/experiments.ts';

/**
 * Runs the experiments that the command line selects, prints their progress, and writes
 * results.json, RESULTS.md and the plots. Ends with 1 if the results are incomplete.
 */
async function bench(): Promise<void> {
  const options = argumentsOf(process.argv.slice(2));
  const folder = join(root, options.out);
  if (!options.isReportOnly) await measure(options, folder);
  await report(folder);
  process.stdout.write(`\n${options.out}/results.json, RESULTS.md and plots are written\n`);
}

async function measure(options: Options, folder: string): Promise<void> {
  const all = experimentsOf(options);
  const order = all.map(({ name }) => name);
  const [held, earlier] = [
    await loadFrom(folder),
    options.against && (await loadFrom(options.against)),
  ];
  const before = held?.size === options.size ? held.experiments : [];
  const machine = await thisMachine();
  const { commit } = await thisRun([]);
  const experiments = chosen(all, options).filter(
    ({ name }) =>
      !options.rest || before.find((each) => each.name === name)?.run?.commit !== commit,
  );
  const progress = new Progress(experiments.length, write);
  const outcomes: Outcome[] = [];
  const results = () => judged(options.size, machine, merged(order, before, outcomes), order);
  for (const experiment of experiments) {
    const waited = options.size === 'full' ? await untilIdle({ write }) : 0;
    const run = await thisRun(process.argv.slice(2), waited);
    outcomes.push({ ...(await compare(experiment, progress)), run });
    // A run that is interrupted keeps the experiments that it has finished.
    await save(folder, results());
  }
  process.stdout.write(`\n${promiseTable(results())}`);
  if (earlier) process.stdout.write(`\n${against(outcomes, earlier.experiments)}`);
  complain(options, outcomes, results());
}

/**
 * Prints which contenders of this run failed and, if all experiments were to be measured, why the
 * results are not those of one whole run on an idle machine. Then the process ends with 1.
 */
function complain({ only, size }: Options, now: Outcome[], results: Results): void {
  const isWhole = only === undefined && size === 'full';
  const { experiments, unmeasured } = results;
  const complaints = isWhole
    ? [...failures(experiments), ...gaps(experiments, unmeasured)]
    : failures(now);
  if (complaints.length === 0) return;
  process.stderr.write(`\nthe results are incomplete:\n  ${complaints.join('\n  ')}\n`);
  process.exitCode = 1;
}

function write(text: string): void {
  process.stdout.write(text);
}

function experimentsOf({ size }: Options): Experiment[] {
  return [
    ...sizes(9),
    ...core(5),
    ...inProcess(IN_PROCESS[size]),
    ...overHttp(OVER_HTTP[size]),
    ...webhooks(WEBHOOKS[size]),
    ...consolePage(CONSOLE[size]),
  ];
}

function chosen(all: Experiment[], { only }: Options): Experiment[] {
  if (only === undefined) return all;
  const known = new Set(all.flatMap(({ name, proves }) => [name, ...proves]));
  const unknown = only.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new Error(
      `no experiment or promise is called ${unknown.join(', ')}; ` +
        `there are ${[...known].sort().join(', ')}`,
    );
  return all.filter(({ name, proves }) => [name, ...proves].some((word) => only.includes(word)));
}

await main(import.meta.url, bench);
