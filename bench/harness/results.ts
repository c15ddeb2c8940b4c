import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from './machine.ts';
import type { Outcome } from './outcome.ts';
import { type Verdict, verdicts } from './promises.ts';

/** All that a run yielded; RESULTS.md and the plots are made from it alone. In the file, verdicts stand at the top level. */
export interface Results {
  /** By the promise's name, `S1` ... */
  verdicts: Record<string, Verdict>;
  size: 'full' | 'quick';
  machine: Machine;
  experiments: Outcome[];
}

/** Judges what was measured. */
export function judged(size: Results['size'], machine: Machine, experiments: Outcome[]): Results {
  return { verdicts: verdicts(experiments), size, machine, experiments };
}

/** Writes `results.json` into a folder. */
export async function save(folder: string, { verdicts: found, ...rest }: Results): Promise<void> {
  await mkdir(folder, { recursive: true });
  const text = JSON.stringify({ ...found, ...rest }, null, 2);
  await writeFile(join(folder, 'results.json'), `${text.replace(SAMPLE, onOneLine)}\n`);
}

/** Reads what {@link save} wrote. */
export async function load(file: string): Promise<Results> {
  const { size, machine, experiments, ...found } = JSON.parse(await readFile(file, 'utf8')) as Results;
  return { verdicts: found as unknown as Results['verdicts'], size, machine, experiments };
}

function onOneLine(sample: string): string {
  return sample.replace(/\s+/g, ' ');
}

/** An object of numbers: one round. */
const SAMPLE = /\{\s+(?:"\w+": [-+.\de]+,?\s+)+\}/g;
