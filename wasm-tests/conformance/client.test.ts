import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { clientScenario, type Revision } from './suite.ts';

const CLIENT = `node ${join(root, 'wasm-tests', 'conformance', 'client.mjs')}`;

/**
 * Runs a scenario of the suite. The checks that pass, and those that the suite skips since they are
 * optional for clients, are on record: none fails, warns, is new or is missing.
 */
async function passes(name: string, revision: Revision): Promise<void> {
  const { checks, verdict } = await clientScenario(CLIENT, name, revision);
  const judged = [...checks.values()].flat().filter(({ status }) => status !== 'INFO');
  const lines = judged.map(({ id, name: title, status }) => `${status} ${id} ${title}`);
  expect(lines.filter((line) => !/^(SUCCESS|SKIPPED) /.test(line))).toEqual([]);
  await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot(`checks/client-${name}.txt`);
  expect(verdict).toBe('passed');
}

// The suite skips what a client of subscriptions does not do: call tools, read resources, offer
// sampling. Its scenario `sse-retry` is about the response to a tool call; how this client handles
// `retry` is tested in node/client/session.test.ts.
test.each<[scenario: string, revision: Revision]>([
  ['request-metadata', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['initialize', '2025-11-25'],
])('the client passes %s', passes);
