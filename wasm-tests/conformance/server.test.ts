import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { run } from '../../scripts/command.mjs';
import { startWorkerd, type Workerd } from '../../scripts/workerd.mjs';
import { bundled } from '../host/bundle.ts';

let bundle: string;
let workerd: Workerd;
let results: string;

beforeAll(async () => {
  bundle = await bundled('wasm-tests/conformance/fixture');
}, 60_000);

// Every scenario meets a bus whose Durable Object has never run, and two isolates that take its requests in turn.
beforeEach(async () => {
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  workerd = await startWorkerd({ bundle, durableObjects, edges: 2, port: 0 });
  results = await mkdtemp(join(tmpdir(), 'conformance-'));
});

afterEach(async () => {
  await workerd.stop();
  await rm(results, { recursive: true });
});

test.each([
  ['server-stateless', 30],
  ['http-header-validation', 14],
])('%s: all %i checks of the official suite pass', async (scenario, count) => {
  const suite = await conformance(scenario);
  const checks = await checksIn(results);
  expect(checks.filter(({ status }) => status !== 'SUCCESS').map(verdict)).toEqual([]);
  expect(checks).toHaveLength(count);
  expect(suite).toBe('passed');
});

/** Runs one scenario against the router; answers what went wrong, or `passed`. */
function conformance(scenario: string): Promise<string> {
  const args = ['--url', `${workerd.url}/mcp`, '--scenario', scenario, '--spec-version', '2026-07-28', '-o', results];
  return run('conformance', ['server', ...args]).then(
    () => 'passed',
    (error: Error) => error.message,
  );
}

/** What the suite wrote below `folder`. */
async function checksIn(folder: string): Promise<Check[]> {
  const file = (await readdir(folder, { recursive: true })).find((path) => path.endsWith('checks.json'));
  return file === undefined ? [] : (JSON.parse(await readFile(join(folder, file), 'utf8')) as Check[]);
}

function verdict({ id, status, errorMessage = '' }: Check): string {
  return `${status} ${id}: ${errorMessage}`;
}

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}
