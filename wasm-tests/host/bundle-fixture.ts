import type { TestProject } from 'vitest/node';
import { bundled } from './bundle.ts';

/** Bundles the Worker of the fixture once for all files of a project. */
export default async function bundleFixture(project: TestProject): Promise<void> {
  project.provide('fixtureBundle', await bundled('wasm-tests/workerd/fixture', project.name));
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the Worker of the fixture lies; undefined where each file bundles it. */
    fixtureBundle?: string;
  }
}
