import { InMemoryBus, type Topic } from 'mcp-listen';
import { expect, test } from 'vitest';
import { acknowledged, listenBody } from '../../host/listen.ts';
import { declaring } from '../../host/options.ts';
import { cancelLine } from '../../host/stdio.ts';
import { connected, failOnUnhandled, open } from './serving.ts';

const A = { resourceSubscriptions: ['note://a'] };
const SECRET = 'note://secret';

failOnUnhandled();

/** The declaration of the extension for tasks. */
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A connection to a server with resources and tasks, and the calls of its bus's hooks as text. */
function hooked() {
  const calls: string[] = [];
  const nameOf = (topic: Topic) => ('uri' in topic ? topic.uri : topic.kind);
  const bus = new InMemoryBus({
    wanted: {
      unwantedMs: 0,
      onWanted: (topic) => {
        calls.push(`+${nameOf(topic)}`);
        return nameOf(topic) !== SECRET;
      },
      onUnwanted: (topic) => void calls.push(`-${nameOf(topic)}`),
    },
  });
  const server = declaring({ resources: { subscribe: true }, ...TASKS });
  return { calls, ...connected({ bus, server }) };
}

test('a subscription is wanted before its acknowledgment, and until it is cancelled', async () => {
  const { calls, ...connection } = hooked();
  await open(connection, '1', A);
  expect(calls).toEqual(['+note://a']);
  await open(connection, '2', A);
  connection.send(cancelLine('1'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toEqual(['+note://a']);
  connection.send(cancelLine('2'));
  await expect.poll(() => calls).toEqual(['+note://a', '-note://a']);
});

test('a topic that the hook refuses is not honored, and one that is not offered is not wanted', async () => {
  const { calls, lines, send } = hooked();
  send(listenBody({ toolsListChanged: true, resourceSubscriptions: ['note://a', SECRET] }));
  expect(await lines.next()).toBe(acknowledged('1', A));
  expect(calls).toEqual(['+note://a', `+${SECRET}`]);
});

test('a task is wanted too, and stays honored if another topic is refused', async () => {
  const { calls, lines, send } = hooked();
  send(listenBody({ taskIds: ['t'], resourceSubscriptions: [SECRET] }, '1', TASKS));
  expect(await lines.next()).toBe(acknowledged('1', { taskIds: ['t'] }));
  expect(calls).toEqual([`+${SECRET}`, '+task_status']);
});

test('the end of the input ends what is wanted', async () => {
  const { calls, stdin, ...connection } = hooked();
  await open(connection, '1', A);
  stdin.end();
  await expect.poll(() => calls).toEqual(['+note://a', '-note://a']);
});
