import { createListenHandler, type ListenHandler } from 'mcp-listen';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleWorker } from '../host/bundle.ts';
import { serveOnNode } from '../host/node-http.ts';
import { everythingServer } from './fixture/server.ts';
import { sessionHandler } from './fixture/sessions.ts';
import { punctual, type Served } from './late.ts';
import {
  counted,
  passed,
  type Revision,
  type Run,
  requirementSet,
  requirements,
  shortcomings,
} from './suite.ts';
import { serveBundle } from './worker.ts';

/** A subject, and the revision whose requirements it is tested by. */
type Subject = 'worker-2026-07-28' | 'worker-2025-11-25' | 'object-2025-11-25' | 'node-2025-11-25';

/**
 * Scenarios in which the server sends requests to its client. The stateless handler of the SDK
 * fails them; a handler with sessions, in a Durable Object or on Node, passes them.
 */
const QUESTIONS = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

/**
 * Not scored: a tool call continues in another stream, which needs a handler with sessions too. On
 * Workers, GET opens the stream of our own sessions, which carries changes and no responses to
 * calls.
 */
const POLLING = 'server-sse-polling';

/**
 * Unscored: the official SDK serves no tasks. A handler that does passes them behind
 * `createListenHandler` (tasks.test.ts).
 */
const TASKS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

/** Unscored: the suite skips its one check, whatever the server does. */
const SKIPPED = ['tasks-status-notifications'];

let bundle: string;

beforeAll(async () => {
  bundle = await bundleWorker('wasm-tests/conformance/fixture');
});

describe('a Worker of two isolates, by 2026-07-28', async () => {
  await meets('worker-2026-07-28', '2026-07-28', {
    serve: onWorkerd,
    lacks: TASKS,
    skipped: SKIPPED,
  });
});

describe('a Worker of two isolates, by 2025-11-25', async () => {
  await meets('worker-2025-11-25', '2025-11-25', {
    serve: onWorkerd,
    cannot: QUESTIONS,
    unjudged: [POLLING],
  });
});

describe('a Worker whose handler has sessions in a Durable Object, by 2025-11-25', async () => {
  await meets('object-2025-11-25', '2025-11-25', {
    serve: onWorkerdWithSessions,
    unjudged: [POLLING],
  });
});

describe('a handler with sessions on Node, by 2025-11-25', async () => {
  await meets('node-2025-11-25', '2025-11-25', { serve: onNode });
});

interface Serving {
  serve: () => Promise<Served>;
  /** The scored scenarios that fail. */
  cannot?: string[];
  /** The unscored scenarios of extensions that the upstream server does not support. */
  lacks?: string[];
  /** The scenarios in which the suite itself skips every check. */
  skipped?: string[];
  /** The unscored scenarios that may pass or fail. */
  unjudged?: string[];
}

/** Declares the tests of one run of the suite. */
async function meets(subject: Subject, revision: Revision, serving: Serving) {
  const { serve, cannot = [], lacks = [], skipped = [], unjudged = [] } = serving;
  const { scored, unscored, extensions } = await requirementSet(revision);
  const failing = [...cannot, ...lacks];
  const passing = [...scored, ...unscored].filter(
    (name) => ![...failing, ...unjudged].includes(name),
  );
  let outcome: Run;

  beforeAll(async () => {
    const examine = (url: string, pid: number) => requirements(url, revision, cannot, pid);
    outcome = await punctual(serve, examine, [...failing, ...skipped, ...unjudged]);
  });

  test('the suite passes', () => {
    expect(outcome.verdict).toBe('passed');
    expect(scored.length).toBeGreaterThanOrEqual(30);
  });

  test.each(passing)('%s', (name) => {
    expect(shortcomings(outcome.checks.get(name) ?? [])).toEqual([]);
  });

  test.each(failing)('%s fails, as expected', (name) => {
    expect((outcome.checks.get(name) ?? []).map(({ status }) => status)).toContain('FAILURE');
  });

  test('every scenario of an extension is judged', () => {
    expect([...lacks, ...skipped].sort()).toEqual(extensions.sort());
    for (const name of skipped)
      expect(outcome.checks.get(name)).toMatchObject([{ status: 'SKIPPED' }]);
  });

  test('exactly the checks on record have passed', async () => {
    await expect(passed(passing, outcome.checks)).toMatchFileSnapshot(`checks/${subject}.txt`);
    const { checks } = outcome;
    await expect(counted(scored, checks)).toMatchFileSnapshot(`checks/${subject}.json`);
  });
}

function onWorkerd(): Promise<Served> {
  return serveBundle(bundle);
}

function onWorkerdWithSessions(): Promise<Served> {
  return serveBundle(bundle, 'auto', 'sessions');
}

async function onNode(): Promise<Served> {
  const server: ListenHandler = createListenHandler(
    sessionHandler(() => everythingServer(server.notify)),
  );
  const { origin, stop } = await serveOnNode(server.fetch);
  return { url: origin, pid: process.pid, stop };
}
