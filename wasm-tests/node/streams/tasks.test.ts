import {
  createMcpHandler,
  InMemoryServerEventBus,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import {
  createListenHandler,
  InMemoryBus,
  type ListenHandlerOptions,
  type ServerEvent,
  type TaskState,
} from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import {
  acknowledged,
  listChanged,
  restOf,
  taskNotification,
  taskState,
  WITH_TASKS,
} from '../../host/listen.ts';
import { CAPABILITIES, declaring } from '../../host/options.ts';
import { notebook } from '../sdk/notebook.ts';
import { listenRequest, open, RESULT, refusal, serving, TOOLS, watched } from '../serving.ts';

const DECLARED = { capabilities: WITH_TASKS };
const TASK = { taskIds: ['t'] };
const NOT_TASKS: unknown[] = [
  undefined,
  't',
  {},
  { taskId: 't' },
  { taskId: 1, status: 'working' },
  { taskId: '', status: 'working' },
  { taskId: 'a\nb', status: 'working' },
  { taskId: 't', status: 'working', statusMessage: 'x'.repeat(16_384) },
];

describe.each([
  ['the in-memory bus', (onError: (error: Error) => void) => new InMemoryBus({ onError })],
  ['a bus written for the SDK', () => new InMemoryServerEventBus() as ServerEventBus],
])('%s', (_name, make) => {
  test('delivers the whole state of a task to the streams that named it', async () => {
    const server = withTasks({ bus: make(() => {}) });
    const stream = await open(server, { ...TASK, ...TOOLS }, DECLARED);
    expect(await stream.message()).toBe(acknowledged('1', { ...TOOLS, ...TASK }));
    const failed: TaskState = {
      ...taskState('t'),
      status: 'failed',
      error: { code: -32603, message: 'no' },
    };
    await server.notify.taskStatus(taskState('other'));
    await server.notify.taskStatus(taskState('t'));
    expect(await stream.message()).toBe(taskNotification('1', taskState('t')));
    await server.notify.taskStatus(failed);
    expect(await stream.message()).toBe(taskNotification('1', failed));
  });

  test.each(NOT_TASKS)('refuses %o with a coded error', async (task) => {
    const onError = vi.fn();
    const server = withTasks({ bus: make(onError), onError });
    const published = server.notify.taskStatus(task as TaskState);
    await expect(published).rejects.toMatchObject({ code: 'invalid-task' });
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'invalid-task' }));
  });
});

test('a bus written for the SDK receives a task unchanged', async () => {
  const bus = { publish: vi.fn(), subscribe: () => () => {} };
  const event: ServerEvent = { kind: 'task_status', task: taskState('t') };
  await withTasks({ bus }).bus.publish(event);
  expect(bus.publish).toHaveBeenCalledExactlyOnceWith(event);
});

test('the SDK ignores tasks on InMemoryBus', async () => {
  const bus = new InMemoryBus();
  const received: ServerEvent[] = [];
  bus.subscribe((event) => received.push(event));
  const handler = createMcpHandler(() => notebook(WITH_TASKS), { bus });
  const reader = (await handler.fetch(listenRequest(TOOLS))).body?.getReader();
  await reader?.read();
  const event: ServerEvent = { kind: 'task_status', task: taskState('t') };
  await bus.publish(event);
  await bus.publish({ kind: 'tools_list_changed' });
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain(
    'notifications/tools/list_changed',
  );
  await reader?.cancel();
  expect(received).toEqual([event, { kind: 'tools_list_changed' }]);
});

describe('requested tasks', () => {
  test.each([{}, { tasks: {} }, { extensions: { 'io.modelcontextprotocol/tasks': true } }])(
    'are refused where the client declares %o, and nothing is registered',
    async (capabilities) => {
      const { server, attached } = watched({
        server: declaring({ ...CAPABILITIES, ...WITH_TASKS }),
      });
      const response = await server.fetch(listenRequest({ ...TOOLS, ...TASK }, { capabilities }));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        id: 1,
        error: { code: -32021, data: { requiredCapabilities: WITH_TASKS } },
      });
      expect(attached()).toBe(0);
    },
  );

  test('are left out of the ack where the server does not advertise them', async () => {
    const stream = await open(serving(), { ...TOOLS, ...TASK }, DECLARED);
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    const nothing = await open(serving(), TASK, DECLARED);
    expect(await nothing.message()).toBe(acknowledged('1', {}));
    expect(await nothing.message()).toBe(RESULT);
  });

  test('are honored where server/discover advertises them', async () => {
    const server = createListenHandler(createMcpHandler(() => notebook(WITH_TASKS)));
    const stream = await open(server, TASK, DECLARED);
    expect(await stream.message()).toBe(acknowledged('1', TASK));
  });

  test('are passed to authorize, which narrows them', async () => {
    const authorize = vi.fn(() => ({ taskIds: ['b', 'z'] }));
    const stream = await open(withTasks({ authorize }), { taskIds: ['a', 'b', 'a'] }, DECLARED);
    expect(await stream.message()).toBe(acknowledged('1', { taskIds: ['b'] }));
    expect(authorize).toHaveBeenCalledWith(
      expect.objectContaining({ requested: { taskIds: ['a', 'b'] } }),
    );
  });
});

describe('subscribed tasks', () => {
  test('that are not read collapse to their latest state', async () => {
    const server = withTasks();
    const stream = await open(server, { taskIds: ['a', 'b'] }, DECLARED);
    const state = (taskId: string, step: number) => ({
      ...taskState(taskId),
      statusMessage: `${step}`,
    });
    for (let step = 0; step < 1_000; step += 1) {
      void server.notify.taskStatus(state('a', step));
      void server.notify.taskStatus(state('b', step));
    }
    void server.close();
    const messages = await restOf(stream);
    expect(messages.at(-1)).toBe(RESULT);
    for (const task of ['a', 'b']) {
      const states = messages.filter((message) => message.includes(`"taskId":"${task}"`));
      expect(states.length).toBeLessThanOrEqual(2);
      expect(states.at(-1)).toBe(taskNotification('1', state(task, 999)));
    }
  });

  test('have separate limits', async () => {
    const server = withTasks({ limits: { taskIds: 1, taskIdBytes: 3 } });
    const asking = (taskIds: string[]) => server.fetch(listenRequest({ taskIds }, DECLARED));
    expect(await refusal(await asking(['a', 'b']))).toMatchObject({ status: 400, code: -32602 });
    expect(await refusal(await asking(['four']))).toMatchObject({ status: 400, code: -32602 });
    expect((await asking(['one'])).status).toBe(200);
  });

  test('and lists are delivered side by side', async () => {
    const server = withTasks();
    const stream = await open(server, { ...TASK, ...TOOLS }, DECLARED);
    await stream.message();
    await server.notify.toolsChanged();
    await server.notify.taskStatus(taskState('t', 'cancelled'));
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    expect(await stream.message()).toBe(taskNotification('1', taskState('t', 'cancelled')));
  });
});

function withTasks(options: ListenHandlerOptions = {}) {
  return serving({ server: declaring({ ...CAPABILITIES, ...WITH_TASKS }), ...options });
}
