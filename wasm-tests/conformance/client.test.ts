import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { clientScenario, type Revision } from './suite.ts';

const CLIENT = `node ${join(root, 'wasm-tests', 'conformance', 'client.mjs')}`;

/**
 * Runs a scenario of the suite: what it checks of this client is on record, as are the checks that
 * it skips since no client need do what they are about: none fails, warns, is new or is missing.
 */
async function passes(name: string, revision: Revision): Promise<void> {
  const { checks, verdict } = await clientScenario(CLIENT, name, revision);
  const judged = [...checks.values()].flat().filter(({ status }) => status !== 'INFO');
  const lines = judged.map(({ id, name: title, status }) => `${status} ${id} ${title}`);
  expect(lines.filter((line) => !/^(SUCCESS|SKIPPED) /.test(line))).toEqual([]);
  await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot(`checks/client-${name}.txt`);
  expect(verdict).toBe('passed');
}

// The suite skips what a client of subscriptions does not do: to call tools, read resources, offer
// sampling. Its scenario `sse-retry` is about the answer to a tool call; what our client does with
// `retry` is in node/client/session.test.ts.
test.each<[scenario: string, revision: Revision]>([
  ['request-metadata', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['initialize', '2025-11-25'],
])('the client passes %s', passes);
