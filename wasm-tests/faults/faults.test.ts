import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { faultResults, isWhole } from '../../scripts/checks/results.mjs';
import { play } from './play.ts';
import type { Result } from './scenario.ts';
import { SCENARIOS } from './scenarios/all.ts';

const results: Result[] = [];
// The last scenarios take the longest, so the short set begins with them.
const scenarios = isWhole
  ? SCENARIOS
  : SCENARIOS.filter(({ short }) => short !== undefined).reverse();

afterAll(async () => {
  await mkdir(dirname(faultResults), { recursive: true });
  const run = { scenarios: scenarios.map(({ name }) => name), results };
  await writeFile(faultResults, JSON.stringify(run));
});

// Scenarios spend most of their time waiting. In the whole set each has the machine to itself.
const playing = isWhole ? test : test.concurrent;

// `%s` leaves names whole, so that `-t` finds them.
playing.each(scenarios.map((each) => [each.name, each] as const))('%s', async (_name, scenario) => {
  const result = await play(scenario, isWhole);
  results.push(result);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  expect(result.violations, result.violations.join('; ')).toEqual([]);
});
