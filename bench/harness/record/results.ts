import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Outcome } from '../outcome.ts';
import { type Verdict, verdicts } from '../promises/verdicts.ts';
import type { Machine } from './machine.ts';

/**
 * The content of results.json, from which RESULTS.md and the plots are made. In the file, the
 * verdicts are properties of the top level.
 */
export interface Results {
  /** By the promise's name, `S1` ... */
  verdicts: Record<string, Verdict>;
  size: 'full' | 'quick';
  machine: Machine;
  /** The names of the experiments that were not measured. */
  unmeasured: string[];
  experiments: Outcome[];
}

/** Adds the verdicts to the outcomes of a run. `order` has the names of all experiments. */
export function judged(
  size: Results['size'],
  machine: Machine,
  experiments: Outcome[],
  order: string[],
): Results {
  const measured = new Set(experiments.map(({ name }) => name));
  const unmeasured = order.filter((name) => !measured.has(name));
  return { verdicts: verdicts(experiments), size, machine, unmeasured, experiments };
}

/**
 * The latest outcome of each experiment, in the given order. Outcomes of experiments that no longer
 * exist are dropped.
 */
export function merged(order: string[], before: Outcome[], now: Outcome[]): Outcome[] {
  return order.flatMap((name) => {
    const outcome = [...now, ...before].find((each) => each.name === name);
    return outcome === undefined ? [] : [outcome];
  });
}

/** Writes `results.json` into a folder. */
export async function save(folder: string, { verdicts: found, ...rest }: Results): Promise<void> {
  await mkdir(folder, { recursive: true });
  const text = JSON.stringify({ ...found, ...rest }, null, 2);
  await writeFile(join(folder, 'results.json'), `${text.replace(SAMPLE, onOneLine)}\n`);
}

/** Reads what {@link save} wrote. */
export async function load(file: string): Promise<Results> {
  const {
    size,
    machine,
    unmeasured = [],
    experiments,
    ...found
  } = JSON.parse(await readFile(file, 'utf8')) as Results;
  const verdicts = found as unknown as Results['verdicts'];
  return { verdicts, size, machine, unmeasured, experiments };
}

/** As {@link load}, of a file or of the results.json of a folder; undefined if there is none. */
export async function loadFrom(path: string): Promise<Results | undefined> {
  const file = path.endsWith('.json') ? path : join(path, 'results.json');
  return existsSync(file) ? load(file) : undefined;
}

function onOneLine(sample: string): string {
  return sample.replace(/\s+/g, ' ');
}

/** An object of numbers: one round. */
const SAMPLE = /\{\s+(?:"\w+": [-+.\de]+,?\s+)+\}/g;
