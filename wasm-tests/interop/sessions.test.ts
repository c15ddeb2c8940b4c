import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { npmStart, type Started } from '../host/servers/npm-start.ts';
import { PythonClient } from './clients/python.ts';
import { SessionClient } from './clients/session.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';

// A change that never comes must not hold the lane for long; Python starts within a test.
vi.setConfig({ testTimeout: 60_000 });

let server: Started;
let modern: Client;
let python: PythonClient;
let session: SessionClient;

beforeAll(async () => {
  server = await npmStart();
  modern = await typescriptClient(server.url);
  python = new PythonClient(server.url, 'legacy');
  session = await SessionClient.connect(server.url);
});

afterAll(async () => {
  await session?.client.close();
  await modern?.close();
  await python?.stop();
  await server?.stop();
});

async function edit(name: string, text: string): Promise<void> {
  expect(
    await modern.callTool({ name: 'edit_note', arguments: { name, text } }),
  ).not.toHaveProperty('isError');
}

test('the 2025 client of the TypeScript SDK receives the capabilities of the server', () => {
  expect(session.client.getServerCapabilities()).toMatchObject({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
  });
  expect(session.client.getServerVersion()).toMatchObject({ name: 'mcp-listen-notebook' });
  expect(session.client.getInstructions()).toContain('notebook');
});

test('the same change reaches a 2026 client and 2025 clients of both SDKs', async () => {
  expect(await python.subscribe('note://todo')).toBe('2025-11-25');
  await openedByPython('note://todo');
  await session.client.subscribeResource({ uri: 'note://todo' });
  const notifications = new Notifications(modern);
  const subscription = await modern.listen({ resourceSubscriptions: ['note://todo'] });
  await edit('todo', 'for all clients');
  expect(await notifications.next()).toBe('resources/updated note://todo');
  expect(await session.next()).toBe('resources/updated note://todo');
  expect(await python.nextNotification()).toBe('resources/updated note://todo');
  const { contents } = await session.client.readResource({ uri: 'note://todo' });
  expect(contents).toMatchObject([{ text: 'for all clients' }]);
  expect(await python.read('note://todo')).toBe('for all clients');
  await subscription.close();
});

test('changes of lists reach every session', async () => {
  for (const [tool, args, list] of [
    ['connect_database', { name: 'sessions' }, 'tools/list_changed'],
    ['add_prompt', { name: 'sessions', text: 'Hello.' }, 'prompts/list_changed'],
    ['edit_note', { name: 'sessions', text: 'Hello.' }, 'resources/list_changed'],
  ] as const) {
    await modern.callTool({ name: tool, arguments: args });
    expect(await session.next()).toBe(list);
    expect(await python.nextNotification()).toBe(list);
  }
});

test('a session receives its own changes', async () => {
  await session.client.callTool({
    name: 'edit_note',
    arguments: { name: 'todo', text: 'by a session' },
  });
  expect(await session.next()).toBe('resources/updated note://todo');
  expect(await python.nextNotification()).toBe('resources/updated note://todo');
});

describe('a stream that is cut', () => {
  test('is resumed from the last event, and nothing is lost', async () => {
    session.cut();
    await edit('todo', 'while the stream was cut');
    await edit('todo', 'twice');
    await session.streams(2);
    expect(session.lastEventIds).toEqual([null, expect.stringMatching(/^\d+-/)]);
    expect(await session.next()).toBe('resources/updated note://todo');
    // Where the client reconnected between the two, it received both.
    await modern.callTool({ name: 'connect_database', arguments: { name: 'resumed' } });
    while ((await session.next()) !== 'tools/list_changed');
    while ((await python.nextNotification()) !== 'tools/list_changed');
    await edit('todo', 'and then');
    expect(await session.next()).toBe('resources/updated note://todo');
    await python.nextNotification();
  });
});

test('after unsubscribing, a session receives nothing more of the resource', async () => {
  await session.client.unsubscribeResource({ uri: 'note://todo' });
  await python.unsubscribe('note://todo');
  await edit('todo', 'not received');
  await modern.callTool({ name: 'connect_database', arguments: { name: 'unsubscribed' } });
  expect(await session.next()).toBe('tools/list_changed');
  expect(await python.nextNotification()).toBe('tools/list_changed');
});

/**
 * Resolves once the Python client has its stream, which it does not report: makes changes until one
 * is received, and then one of a tool, which follows all that is still on its way.
 */
async function openedByPython(uri: string): Promise<void> {
  let isOpen = false;
  const first = python.nextNotification().then(() => {
    isOpen = true;
  });
  let round = 0;
  const change = async (): Promise<boolean> => {
    round += 1;
    await edit(uri.replace('note://', ''), `round ${round}`);
    return isOpen;
  };
  await expect.poll(change, { timeout: 30_000, interval: 200 }).toBe(true);
  await first;
  await modern.callTool({ name: 'connect_database', arguments: { name: 'opened' } });
  while ((await python.nextNotification()) !== 'tools/list_changed');
  expect(await session.next()).toBe('tools/list_changed');
}
