import { defineConfig } from 'vitest/config';

// One project per lane of .ci. Lanes that start processes run one file after another, except the
// lane that mostly waits.
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
  ...{ fileParallelism: true, maxWorkers: 4, testTimeout: 60_000, hookTimeout: 60_000 },
  globalSetup: 'wasm-tests/host/fixture/setup.ts',
};

export default defineConfig({
  test: {
    projects: [
      project('node', { fileParallelism: true, testTimeout: 30_000, hookTimeout: 60_000 }),
      project('buses', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('workerd', ON_WORKERD),
      project('workerd-each', { ...ON_WORKERD, env: { SOCKETS: 'each' } }, EACH),
      project('faults', { fileParallelism: false, testTimeout: 3_600_000, hookTimeout: 60_000 }),
      project('console', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('interop', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('conformance', { fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 }),
      project('package', { fileParallelism: false, testTimeout: 120_000, hookTimeout: 300_000 }),
    ],
  },
});

interface Limits {
  fileParallelism: boolean;
  maxWorkers?: number;
  testTimeout: number;
  hookTimeout: number;
  env?: Record<string, string>;
  globalSetup?: string;
}

/** The tests of a folder; with `files`, these alone, of the folder before the hyphen. */
function project(name: string, limits: Limits, files = ['**/*']) {
  // A busy machine is no failure: what is waited for may take a while.
  const expect = { poll: { timeout: 20_000 } };
  // Projects of different limits cannot share the workers of a run, as `vitest list` would let
  // them.
  const sequence = { groupOrder: groups.push(name) };
  const [folder] = name.split('-');
  const include = files.map((file) => `wasm-tests/${folder}/${file}.test.ts`);
  return { test: { name, include, expect, sequence, ...limits } };
}
