import { serveListen } from 'mcp-listen';
import { beforeAll, describe, expect, test } from 'vitest';
import { startWorkerd } from '../../scripts/workerd.mjs';
import { bundled } from '../host/bundle.ts';
import { serveOnNode } from '../host/node-http.ts';
import { everythingServer } from './fixture/server.ts';
import { sessionHandler } from './sessions.ts';
import { passed, type Revision, type Run, requirementSet, requirements, scenario, shortcomings } from './suite.ts';

/**
 * Where the server asks its client something: a handler without sessions, as Workers have it, cannot. A handler
 * with sessions on Node can, and there they pass.
 */
const QUESTIONS = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

/** What passes once sessions of 2025-11-25 and the checks of Origin and Host are here: to be emptied then. */
const WAITING: Record<Revision, string[]> = {
  '2026-07-28': ['dns-rebinding-protection'],
  '2025-11-25': [
    'dns-rebinding-protection',
    'resources-subscribe',
    'resources-unsubscribe',
    'server-session-lifecycle',
    'server-sse-multiple-streams',
  ],
};

/** About the stream of a tool call, which is the handler's: it goes through as it comes. */
const NOT_OURS = ['server-sse-polling'];

let bundle: string;

beforeAll(async () => {
  bundle = await bundled('wasm-tests/conformance/fixture');
});

describe.each<Revision>(['2026-07-28', '2025-11-25'])(
  'a Worker of two isolates, by the requirements of %s',
  async (revision) => {
    const { scored, unscored } = await requirementSet(revision);
    const failures = [...WAITING[revision], ...(revision === '2025-11-25' ? QUESTIONS : [])];
    const passing = [...scored, ...unscored].filter((name) => ![...failures, ...NOT_OURS].includes(name));
    let outcome: Run;

    beforeAll(async () => {
      outcome = await ofWorker(revision, failures);
    });

    test('the suite is content', () => {
      expect(outcome.verdict).toBe('passed');
      expect(scored.length).toBeGreaterThanOrEqual(30);
    });

    test.each(passing)('%s', (name) => {
      expect(shortcomings(outcome.checks.get(name) ?? [])).toEqual([]);
    });

    test.each(failures)('%s fails here, as expected', (name) => {
      expect(shortcomings(outcome.checks.get(name) ?? [])).not.toEqual([]);
    });

    test('just the checks that are on record have passed', async () => {
      await expect(passed(passing, outcome.checks)).toMatchFileSnapshot(`checks/worker-${revision}.txt`);
    });
  },
);

describe('a handler with sessions on Node, behind serveListen', () => {
  const checks: Run['checks'] = new Map();
  const verdicts = new Map<string, string>();

  beforeAll(async () => {
    const handler = sessionHandler(() => everythingServer(server.notify));
    const server = serveListen(handler, { capabilities: {} });
    const { origin, stop } = await serveOnNode(server.fetch);
    for (const name of QUESTIONS) {
      const outcome = await scenario(`${origin}/mcp`, name, '2025-11-25');
      verdicts.set(name, outcome.verdict);
      checks.set(name, outcome.checks.get(name) ?? []);
    }
    await stop();
  });

  test.each(QUESTIONS)('%s', (name) => {
    expect(verdicts.get(name)).toBe('passed');
    expect(shortcomings(checks.get(name) ?? [])).toEqual([]);
  });

  test('just the checks that are on record have passed', async () => {
    await expect(passed(QUESTIONS, checks)).toMatchFileSnapshot('checks/node-2025-11-25.txt');
  });
});

/** Runs the requirements against a bus that has never run, and two isolates that take the requests in turn. */
async function ofWorker(revision: Revision, failures: string[]): Promise<Run> {
  const durableObjects = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
  const workerd = await startWorkerd({ bundle, durableObjects, edges: 2, port: 0 });
  try {
    return await requirements(`${workerd.url}/mcp`, revision, failures);
  } finally {
    await workerd.stop();
  }
}
