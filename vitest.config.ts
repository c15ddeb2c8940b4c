import { defineConfig } from 'vitest/config';

// One project per lane of .ci; what starts processes of its own runs one file after another.
export default defineConfig({
  test: {
    projects: [
      project('node', { fileParallelism: true }),
      project('workerd', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('faults', { fileParallelism: false, testTimeout: 3_600_000, hookTimeout: 60_000 }),
      project('interop', { fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 }),
      project('conformance', { fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 }),
      project('package', { fileParallelism: false, testTimeout: 120_000, hookTimeout: 300_000 }),
    ],
  },
});

function project(name: string, limits: { fileParallelism: boolean; testTimeout?: number; hookTimeout?: number }) {
  return { test: { name, include: [`wasm-tests/${name}/**/*.test.ts`], ...limits } };
}
