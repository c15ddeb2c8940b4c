import { defineConfig } from 'vitest/config';
import { LISTING } from './scripts/lint/manifest.mjs';

// One project per lane of .ci. Tests mostly wait for other processes and for timers, so several
// files run at a time, on two processors too.
const groups: string[] = [];
/**
 * On workerd, streams reach the bus as users get it. What depends on the connection runs with a
 * socket for each stream as well.
 */
const EACH = [
  'streams/registration',
  'bus/publish',
  'streams/healing',
  'bus/shards',
  'sessions/shards',
  'streams/isolates',
  'streams/ends',
  'sessions/sessions',
  'bus/promises',
];
const ON_WORKERD = {
  ...files(4, 60_000),
  globalSetup: 'wasm-tests/host/fixture/setup.ts',
};

export default defineConfig({
  test: {
    projects: [
      project('node', files(3, 30_000)),
      project('buses', files(2, 60_000)),
      project('workerd', ON_WORKERD),
      project('workerd-each', { ...ON_WORKERD, env: { SOCKETS: 'each' } }, EACH),
      // Scenarios that run at a time: `--maxConcurrency` does not reach a project.
      project('faults', { ...files(1, 3_600_000), maxConcurrency: 5 }),
      project('console', {
        ...files(3, 60_000),
        globalSetup: 'wasm-tests/console/setup.ts',
      }),
      // Some of these tests take half a minute on an idle machine.
      project('interop', files(3, 120_000)),
      // A hook may run the suite three times (wasm-tests/conformance/late.ts).
      project('conformance', { ...files(2, 120_000), hookTimeout: 180_000 }),
      project('package', {
        ...files(3, 120_000),
        hookTimeout: 300_000,
        globalSetup: 'wasm-tests/package/setup.ts',
      }),
    ],
  },
});

/** The limits of a project that runs so many files at a time. */
function files(maxWorkers: number, testTimeout: number): Limits {
  return { fileParallelism: maxWorkers > 1, maxWorkers, testTimeout, hookTimeout: 60_000 };
}

interface Limits {
  fileParallelism: boolean;
  maxWorkers: number;
  testTimeout: number;
  hookTimeout: number;
  maxConcurrency?: number;
  env?: Record<string, string>;
  /** A module that runs once before the files. */
  globalSetup?: string;
}

/** The tests of a folder; with `files`, these alone, of the folder before the hyphen. */
function project(name: string, { globalSetup, ...limits }: Limits, files = ['**/*']) {
  // A busy machine is no failure: what is waited for may take a while.
  const expect = { poll: { timeout: 20_000 } };
  const [folder = name] = name.split('-');
  if (!groups.includes(folder)) groups.push(folder);
  // Projects of different limits cannot share the workers of a run, as `vitest list` would let
  // them. Those of a folder have the same limits, and share them.
  const sequence = { groupOrder: groups.indexOf(folder) + 1 };
  const include = files.map((file) => `wasm-tests/${folder}/${file}.test.ts`);
  // Who only lists the tests needs no Chromium, and nothing packed or bundled.
  const isListing = process.env[LISTING] !== undefined;
  const setUp = isListing || globalSetup === undefined ? {} : { globalSetup };
  return { test: { name, include, expect, sequence, ...setUp, ...limits } };
}
