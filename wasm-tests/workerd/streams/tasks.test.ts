import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listenBody,
  taskNotification,
  taskState,
  updated,
  WITH_TASKS,
} from '../../host/listen.ts';

const fixture = useFixture();
const DECLARED = { capabilities: WITH_TASKS };

test('the state of a task published in one isolate reaches a stream of another, byte for byte', async () => {
  const honored = { resourceSubscriptions: ['note://a'], taskIds: ['t', 'u'] };
  const stream = await fixture().subscribe(0, honored, DECLARED);
  expect(await stream.event()).toBe(`event: message\ndata: ${acknowledged('1', honored)}`);
  const large = { ...taskState('t'), statusMessage: 'ä'.repeat(8_000) };
  const completed = {
    ...taskState('u'),
    status: 'completed',
    result: { content: [], isError: false },
  };
  for (const task of [taskState('other'), large, completed]) {
    expect(await fixture().publish(1, { kind: 'task_status', task })).toBe(200);
  }
  await fixture().publish(1, { kind: 'resource_updated', uri: 'note://a' });
  expect(await stream.event()).toBe(`event: message\ndata: ${taskNotification('1', large)}`);
  expect(await stream.event()).toBe(`event: message\ndata: ${taskNotification('1', completed)}`);
  expect(await stream.event()).toBe(`event: message\ndata: ${updated('1', 'note://a')}`);
});

test('a client without the Tasks extension gets no task, and nothing is registered', async () => {
  const request = { method: 'POST', headers: LISTEN_HEADERS, body: listenBody({ taskIds: ['t'] }) };
  const response = await fetch(fixture().mcp(0), request);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: -32021, data: { requiredCapabilities: WITH_TASKS } },
  });
  await fixture().untilAttached(0);
});

test('the bus refuses a malformed task, and delivers the next event', async () => {
  const stream = await fixture().subscribe(0, { toolsListChanged: true, taskIds: ['t'] }, DECLARED);
  await stream.message();
  const { position } = await fixture().bus<{ position: number }>('stats');
  for (const task of [
    undefined,
    {},
    { taskId: 't' },
    { ...taskState('t'), statusMessage: 'x'.repeat(16_384) },
  ]) {
    expect(await fixture().publish(1, { kind: 'task_status', task })).toBe(400);
  }
  expect(await fixture().bus('stats')).toMatchObject({ position });
  await fixture().publish(1, { kind: 'tools_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});
