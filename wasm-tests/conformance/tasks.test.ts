import { createListenHandler, type ListenHandler, type TaskState } from 'mcp-listen';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleWorker } from '../host/bundle.ts';
import { listen, taskNotification } from '../host/listen.ts';
import { serveOnNode } from '../host/node-http.ts';
import { passed, type Run, requirementSet, scenario, shortcomings } from './suite.ts';
import { EXTENSION, taskHandler } from './tasks/handler.ts';
import { serveBundle } from './worker.ts';

/**
 * The suite skips the only check of this scenario until it is rewritten for
 * `subscriptions/listen`. The tests below check what it is about.
 */
const EMPTY = 'tasks-status-notifications';

const { extensions } = await requirementSet('2026-07-28');
const judged = extensions.filter((name) => name.startsWith('tasks-') && name !== EMPTY);

interface Served {
  url: string;
  stop: () => Promise<void>;
}

test('the suite has ten scenarios of tasks', () => {
  expect([...judged, EMPTY]).toHaveLength(10);
});

describe.each([
  ['Node', onNode],
  ['a Worker of two isolates', onWorkerd],
])('on %s', (_host, serve) => {
  const seen: Run['checks'] = new Map();
  let served: Served;
  let url = '';

  beforeAll(async () => {
    served = await serve();
    url = `${served.url}/mcp`;
  });

  afterAll(() => served?.stop());

  describe('a handler with tasks behind createListenHandler passes', () => {
    test.each(judged)('%s', async (name) => {
      const { checks, verdict } = await scenario(url, name, '2026-07-28');
      expect(shortcomings(checks.get(name) ?? [])).toEqual([]);
      expect(verdict).toBe('passed');
      seen.set(name, checks.get(name) ?? []);
    });

    test('exactly the checks on record', async () => {
      await expect(passed(judged, seen)).toMatchFileSnapshot('checks/tasks.txt');
    });
  });

  test('the suite does not check the notifications of tasks yet', async () => {
    const { checks } = await scenario(url, EMPTY, '2026-07-28');
    expect(checks.get(EMPTY)).toMatchObject([
      { id: EMPTY, status: 'SKIPPED', errorMessage: expect.stringMatching(/rewrite/) },
    ]);
  });

  test.each<[name: string, tool: string, changes: Change[]]>([
    ['that is cancelled', 'slow_compute', [['tasks/cancel', [], 'cancelled']]],
    [
      'that requests input, and completes',
      'multi_input',
      [
        ['first', 'input_required'],
        ['second', 'completed'],
      ].map(responding),
    ],
  ])(
    'notifications carry the state that tasks/get returns of a task %s',
    async (_name, tool, changes) => {
      await carries(url, tool, changes);
    },
  );
});

/** Changes a task of this tool, and expects a stream to receive each of its states. */
async function carries(url: string, tool: string, changes: Change[]): Promise<void> {
  const call = { name: tool, arguments: { seconds: 60 } };
  const { taskId } = await ask<{ taskId: string }>(url, 'tools/call', call);
  const stream = await listen(url, { taskIds: [taskId] }, { capabilities: EXTENSION });
  expect(await stream.message()).toContain(`"taskIds":["${taskId}"]`);
  for (const [method, given, status] of changes) {
    const inputResponses = Object.fromEntries(
      given.map((key) => [key, { action: 'accept', content: {} }]),
    );
    await ask(url, method, { taskId, inputResponses });
    const { resultType, ...task } = await ask<TaskState & { resultType: string }>(
      url,
      'tasks/get',
      { taskId },
    );
    expect([resultType, task.status]).toEqual(['complete', status]);
    expect(await stream.message()).toBe(taskNotification('1', task));
  }
  stream.drop();
}

async function onNode(): Promise<Served> {
  const server: ListenHandler = createListenHandler(
    taskHandler((task) => server.notify.taskStatus(task)),
  );
  const { origin, stop } = await serveOnNode(server.fetch);
  return { url: origin, stop };
}

async function onWorkerd(): Promise<Served> {
  return serveBundle(await bundleWorker('wasm-tests/conformance/fixture'), 'auto', 'tasks');
}

/** A request that changes a task, the input that it contains, and the state that follows. */
type Change = [method: string, given: string[], status: string];

function responding([key = '', status = '']: string[]): Change {
  return ['tasks/update', [key], status];
}

async function ask<Result>(url: string, method: string, params: object): Promise<Result> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': EXTENSION,
  };
  const headers = {
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  const response = await fetch(url, { method: 'POST', headers, body });
  return ((await response.json()) as { result: Result }).result;
}
