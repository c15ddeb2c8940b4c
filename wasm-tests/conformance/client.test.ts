import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/project.mjs';
import { clientScenario, type Revision } from './suite.ts';

const CLIENT = `node ${join(root, 'wasm-tests', 'conformance', 'client.mjs')}`;

/** Runs a scenario of the suite; `least` of its checks succeed, and none fails or warns. */
async function passes(name: string, revision: Revision, least: number): Promise<void> {
  const { checks, verdict } = await clientScenario(CLIENT, name, revision);
  const all = [...checks.values()].flat();
  expect(all.filter(({ status }) => !['SUCCESS', 'SKIPPED', 'INFO'].includes(status))).toEqual([]);
  expect(all.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThanOrEqual(least);
  expect(verdict).toBe('passed');
}

// The suite skips what a client need not do: to call tools, read resources, offer sampling. Its scenario `sse-retry` is
// about the answer to a tool call; what our client does with `retry` is in node/client-legacy.test.ts.
test('the client passes request-metadata', () => passes('request-metadata', '2026-07-28', 5));
test('the client passes http-standard-headers', () => passes('http-standard-headers', '2026-07-28', 1));
test('the client passes initialize', () => passes('initialize', '2025-11-25', 1));
