import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, writeNamedModule } from '../../scripts/build/build.mjs';
import { run } from '../../scripts/process/command.mjs';
import { main } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { setUp } from '../../scripts/setup/setup.mjs';
import { untilIdle } from '../harness/record/idle.ts';
import { thisMachine } from '../harness/record/machine.ts';
import { thisRun } from '../harness/record/run.ts';
import { PLACES, type Place } from './sampling.ts';
import type { Profile } from './targeted.ts';

/**
 * Profiles targeted events with each server, in separate processes. Prints the tables, and writes
 * results.json.
 */
async function profile(): Promise<void> {
  await setUp();
  await build();
  const module = await writeNamedModule('.build/profile');
  const waited = await untilIdle({ write: (text) => process.stderr.write(text) });
  const described = { ...(await thisRun([], waited)), command: 'npm run bench:profile' };
  const profiles: Record<string, Profile[]> = {};
  for (const [name, contender] of Object.entries(CONTENDERS)) {
    const args = [...FLAGS, CHILD, ...contender, module, ...STREAMS];
    profiles[name] = JSON.parse(await run('node', args)) as Profile[];
    process.stdout.write(tableOf(name, profiles[name]));
  }
  const results = { run: described, machine: await thisMachine(), profiles };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}

/** A table in Markdown: microseconds of an event, by place and by function. */
function tableOf(name: string, profiles: Profile[]): string {
  const row = (title: string, of: (profile: Profile) => number | undefined) =>
    `| ${[title, ...profiles.map((profile) => of(profile)?.toFixed(2) ?? '')].join(' | ')} |`;
  const places = Object.keys(PLACES) as Place[];
  const largest = profiles.at(-1)?.functions ?? [];
  return [
    row(`${name}, us/event`, ({ streams }) => streams).replaceAll('.00', ''),
    `|${' --- |'.repeat(profiles.length + 1)}`,
    row('processor time of a publish, without the profiler', ({ publish }) => publish),
    row('the cheapest round', ({ least }) => least),
    ...places.map((place) => row(PLACES[place], ({ places: times }) => times[place])),
    ...largest.map(({ name: title, place }) =>
      row(`${place}: ${title}`, ({ functions }) => {
        return functions.find((each) => each.name === title && each.place === place)?.us;
      }),
    ),
    '\n',
  ].join('\n');
}

const RESULTS = join(root, 'bench', 'profile', 'results.json');
const CHILD = join(root, 'bench', 'profile', 'targeted.ts');
const CONTENDERS = {
  'mcp-listen': ['listen', 'spread'],
  'mcp-listen, adjacent streams': ['listen', 'adjacent'],
  'enqueue only': ['enqueue', 'spread'],
};
const STREAMS = ['1000', '10000', '100000'];
/** 100,000 streams need more heap than Node's default. */
const FLAGS = ['--max-old-space-size=8192', '--disable-warning=ExperimentalWarning'];

await main(import.meta.url, profile);
