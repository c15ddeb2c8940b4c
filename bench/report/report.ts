import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from '../harness/record/results.ts';
import { documentOf } from './document.ts';
import { plotsOf } from './plots.ts';

/** Writes RESULTS.md and the plots of a folder from its results.json. */
export async function report(folder: string): Promise<void> {
  const results = await load(join(folder, 'results.json'));
  const plots = join(folder, 'plots');
  await rm(plots, { recursive: true, force: true });
  await mkdir(plots, { recursive: true });
  for (const { file, svg } of results.experiments.flatMap(plotsOf))
    await writeFile(join(plots, file), svg);
  await writeFile(join(folder, 'RESULTS.md'), documentOf(results));
}
