import { defineConfig } from 'vitest/config';

// One project per lane of .ci; what starts processes of its own runs one file after another, save the lane that does
// little but wait.
const groups: string[] = [];

export default defineConfig({
  test: {
    projects: [
      project('node', { fileParallelism: true, testTimeout: 30_000, hookTimeout: 60_000 }),
      project('buses', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('workerd', { fileParallelism: true, maxWorkers: 3, testTimeout: 60_000, hookTimeout: 60_000 }),
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
}

function project(name: string, limits: Limits) {
  // A busy machine is no failure: what is waited for may take a while.
  const expect = { poll: { timeout: 20_000 } };
  // Projects of different limits cannot share the workers of a run, as `vitest list` would let them.
  const sequence = { groupOrder: groups.push(name) };
  return { test: { name, include: [`wasm-tests/${name}/**/*.test.ts`], expect, sequence, ...limits } };
}
