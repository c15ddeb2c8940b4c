import { createListenHandler, type ListenHandler, type TaskState } from 'mcp-listen';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen, taskNotification } from '../host/listen.ts';
import { type NodeServer, serveOnNode } from '../host/node-http.ts';
import { passed, type Run, requirementSet, scenario, shortcomings } from './suite.ts';
import { EXTENSION, taskHandler } from './tasks/handler.ts';

/**
 * The suite skips the only check of this scenario until it is rewritten for
 * `subscriptions/listen`. The tests below check what it is about.
 */
const EMPTY = 'tasks-status-notifications';

const { extensions } = await requirementSet('2026-07-28');
const judged = extensions.filter((name) => name.startsWith('tasks-') && name !== EMPTY);

let served: NodeServer;

beforeAll(async () => {
  const server: ListenHandler = createListenHandler(
    taskHandler((task) => server.notify.taskStatus(task)),
  );
  served = await serveOnNode(server.fetch);
});

afterAll(() => served.stop());

test('the suite has ten scenarios of tasks', () => {
  expect([...judged, EMPTY]).toHaveLength(10);
});

describe('a handler with tasks behind createListenHandler passes', () => {
  const seen: Run['checks'] = new Map();

  test.each(judged)('%s', async (name) => {
    const { checks, verdict } = await scenario(served.origin, name, '2026-07-28');
    expect(shortcomings(checks.get(name) ?? [])).toEqual([]);
    expect(verdict).toBe('passed');
    seen.set(name, checks.get(name) ?? []);
  });

  test('exactly the checks on record', async () => {
    await expect(passed(judged, seen)).toMatchFileSnapshot('checks/node-tasks.txt');
  });
});

test('the suite does not check the notifications of tasks yet', async () => {
  const { checks } = await scenario(served.origin, EMPTY, '2026-07-28');
  expect(checks.get(EMPTY)).toMatchObject([
    { id: EMPTY, status: 'SKIPPED', errorMessage: expect.stringMatching(/rewrite/) },
  ]);
});

describe('task notifications carry the state that tasks/get returns', () => {
  test.each<
    [name: string, tool: string, changes: [method: string, answered: string[], status: string][]]
  >([
    ['of a task that is cancelled', 'slow_compute', [['tasks/cancel', [], 'cancelled']]],
    [
      'of a task that requests input, and completes',
      'multi_input',
      [
        ['first', 'input_required'],
        ['second', 'completed'],
      ].map(answering),
    ],
  ])('%s', async (_name, tool, changes) => {
    const { taskId } = await ask<{ taskId: string }>('tools/call', {
      name: tool,
      arguments: { seconds: 60 },
    });
    const stream = await listen(served.origin, { taskIds: [taskId] }, { capabilities: EXTENSION });
    expect(await stream.message()).toContain(`"taskIds":["${taskId}"]`);
    for (const [method, answered, status] of changes) {
      const inputResponses = Object.fromEntries(
        answered.map((key) => [key, { action: 'accept', content: {} }]),
      );
      await ask(method, { taskId, inputResponses });
      const { resultType, ...task } = await ask<TaskState & { resultType: string }>('tasks/get', {
        taskId,
      });
      expect([resultType, task.status]).toEqual(['complete', status]);
      expect(await stream.message()).toBe(taskNotification('1', task));
    }
    stream.drop();
  });
});

function answering([key = '', status = '']: string[]): [
  method: string,
  answered: string[],
  status: string,
] {
  return ['tasks/update', [key], status];
}

async function ask<Result>(method: string, params: object): Promise<Result> {
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
  const response = await fetch(served.origin, { method: 'POST', headers, body });
  return ((await response.json()) as { result: Result }).result;
}
