import { serveListen } from 'mcp-listen';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundled } from '../host/bundle.ts';
import { serveOnNode } from '../host/node-http.ts';
import { everythingServer } from './fixture/server.ts';
import { sessionHandler } from './sessions.ts';
import { passed, type Revision, type Run, requirementSet, requirements, shortcomings } from './suite.ts';
import { serveBundle } from './worker.ts';

/** Who is tested by the requirements of which revision. */
type Subject = 'worker-2026-07-28' | 'worker-2025-11-25' | 'node-2025-11-25';

/**
 * Where the server asks its client something: a handler that knows nothing of sessions, as Workers have it, cannot. A handler
 * with sessions of its own on Node can, and there they pass.
 */
const QUESTIONS = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

/** Not scored: a tool call goes on in another stream, which again takes a handler with sessions. */
const POLLING = 'server-sse-polling';

let bundle: string;

beforeAll(async () => {
  bundle = await bundled('wasm-tests/conformance/fixture');
});

describe('a Worker of two isolates, by the requirements of 2026-07-28', async () => {
  await meets('worker-2026-07-28', '2026-07-28', { serve: onWorkerd });
});

describe('a Worker of two isolates, by the requirements of 2025-11-25', async () => {
  await meets('worker-2025-11-25', '2025-11-25', { serve: onWorkerd, cannot: QUESTIONS, unjudged: [POLLING] });
});

describe('a handler with sessions on Node, behind serveListen, by the requirements of 2025-11-25', async () => {
  await meets('node-2025-11-25', '2025-11-25', { serve: onNode });
});

interface Serving {
  serve: () => Promise<{ url: string; stop: () => Promise<void> }>;
  /** The scored scenarios that cannot pass. */
  cannot?: string[];
  /** The unscored scenarios that may end as they like. */
  unjudged?: string[];
}

/** Declares the tests of one run of the suite. */
async function meets(subject: Subject, revision: Revision, { serve, cannot: failing = [], unjudged = [] }: Serving) {
  const { scored, unscored } = await requirementSet(revision);
  const passing = [...scored, ...unscored].filter((name) => ![...failing, ...unjudged].includes(name));
  let outcome: Run;

  beforeAll(async () => {
    const { url, stop } = await serve();
    outcome = await requirements(`${url}/mcp`, revision, failing).finally(stop);
  });

  test('the suite is content', () => {
    expect(outcome.verdict).toBe('passed');
    expect(scored.length).toBeGreaterThanOrEqual(30);
  });

  test.each(passing)('%s', (name) => {
    expect(shortcomings(outcome.checks.get(name) ?? [])).toEqual([]);
  });

  test.each(failing)('%s fails here, as expected', (name) => {
    expect(shortcomings(outcome.checks.get(name) ?? [])).not.toEqual([]);
  });

  test('just the checks that are on record have passed', async () => {
    await expect(passed(passing, outcome.checks)).toMatchFileSnapshot(`checks/${subject}.txt`);
  });
}

function onWorkerd(): ReturnType<Serving['serve']> {
  return serveBundle(bundle);
}

async function onNode(): ReturnType<Serving['serve']> {
  const server = serveListen(sessionHandler(() => everythingServer(server.notify)));
  const { origin, stop } = await serveOnNode(server.fetch);
  return { url: origin, stop };
}
