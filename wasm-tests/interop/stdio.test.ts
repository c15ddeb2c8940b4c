import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EVERYTHING } from '../host/listen.ts';
import { LOSING_SERVER, STDIO_SERVER } from '../host/stdio.ts';
import { PythonClient } from './clients/python.ts';
import { SessionClient } from './clients/session.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';

// A change that never comes must not hold the lane for long; each test starts processes.
vi.setConfig({ testTimeout: 60_000 });

describe('the TypeScript client on stdio', () => {
  let client: Client;
  let notifications: Notifications;
  let transport: StdioClientTransport;

  beforeEach(async () => {
    transport = new StdioClientTransport({ command: process.execPath, args: [STDIO_SERVER] });
    client = await typescriptClient(transport);
    notifications = new Notifications(client);
  });

  afterEach(() => client.close());

  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });

  test('receives every kind of change, and reads it again', async () => {
    const subscription = await client.listen(EVERYTHING);
    expect(subscription.honoredFilter).toEqual(EVERYTHING);
    await call('add_tool', { name: 'greet' });
    expect(await notifications.next()).toBe('tools/list_changed');
    expect((await client.listTools()).tools).toContainEqual(
      expect.objectContaining({ name: 'greet' }),
    );
    await call('add_prompt', { name: 'greet' });
    expect(await notifications.next()).toBe('prompts/list_changed');
    expect((await client.listPrompts()).prompts).toContainEqual(
      expect.objectContaining({ name: 'greet' }),
    );
    await call('edit_note', { name: 'new', text: 'hello' });
    expect(await notifications.next()).toBe('resources/list_changed');
    await call('edit_note', { name: 'todo', text: 'written' });
    expect(await notifications.next()).toBe('resources/updated note://todo');
    expect((await client.readResource({ uri: 'note://todo' })).contents).toMatchObject([
      { text: 'written' },
    ]);
  });

  test('closes one subscription and keeps the other', async () => {
    const tools = await client.listen({ toolsListChanged: true });
    const prompts = await client.listen({ promptsListChanged: true });
    await tools.close();
    expect(await tools.closed).toBe('local');
    await call('add_tool', { name: 'unreceived' });
    await call('add_prompt', { name: 'received' });
    expect(await notifications.next()).toBe('prompts/list_changed');
    await prompts.close();
  });

  test('receives a graceful end', async () => {
    const [one, other] = [
      await client.listen(EVERYTHING),
      await client.listen({ toolsListChanged: true }),
    ];
    process.kill(transport.pid ?? 0, 'SIGTERM');
    expect(await Promise.all([one.closed, other.closed])).toEqual(['graceful', 'graceful']);
  });

  test('notices that the server was killed', async () => {
    const subscription = await client.listen(EVERYTHING);
    process.kill(transport.pid ?? 0, 'SIGKILL');
    expect(await subscription.closed).toBe('remote');
  });

  test('is refused a bad filter', async () => {
    const filter = { resourceSubscriptions: [''] };
    await expect(client.listen(filter)).rejects.toMatchObject({ code: -32602 });
  });

  test('ends an empty subscription gracefully', async () => {
    const subscription = await client.listen({});
    expect(subscription.honoredFilter).toEqual({});
    expect(await subscription.closed).toBe('graceful');
  });
});

test.each(['auto', 'legacy'] as const)(
  'the TypeScript client connects on stdio in mode %s',
  async (mode) => {
    const transport = new StdioClientTransport({ command: process.execPath, args: [STDIO_SERVER] });
    const client = await typescriptClient(transport, { versionNegotiation: { mode } });
    const { tools } = await client.listTools();
    expect(tools).toContainEqual(expect.objectContaining({ name: 'add_tool' }));
    const opened = client.listen({ toolsListChanged: true }).then(
      () => 'open',
      () => 'refused',
    );
    expect(await opened).toBe(mode === 'auto' ? 'open' : 'refused');
    await client.close();
  },
);

describe('the Python client on stdio', () => {
  let python: PythonClient;

  beforeEach(() => {
    python = new PythonClient([process.execPath, STDIO_SERVER]);
  });

  afterEach(() => python.stop());

  const all = {
    tools_list_changed: true,
    prompts_list_changed: true,
    resources_list_changed: true,
  };

  test('receives every kind of change, and reads it again', async () => {
    expect(await python.listen('all', { ...all, resource_subscriptions: ['note://todo'] })).toEqual(
      EVERYTHING,
    );
    await python.callTool('add_tool', { name: 'greet' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ToolsListChanged' });
    expect(await python.list('tools')).toContain('greet');
    await python.callTool('add_prompt', { name: 'greet' });
    expect(await python.nextEvent('all')).toEqual({ event: 'PromptsListChanged' });
    await python.callTool('edit_note', { name: 'new', text: 'hello' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ResourcesListChanged' });
    await python.callTool('edit_note', { name: 'todo', text: 'written' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ResourceUpdated', uri: 'note://todo' });
    expect(await python.read('note://todo')).toBe('written');
  });

  test('closes one subscription and keeps the other', async () => {
    await python.listen('tools', { tools_list_changed: true });
    await python.listen('prompts', { prompts_list_changed: true });
    await python.close('tools');
    await python.callTool('add_tool', { name: 'unreceived' });
    await python.callTool('add_prompt', { name: 'received' });
    expect(await python.nextEvent('prompts')).toEqual({ event: 'PromptsListChanged' });
  });

  test.each([
    ['receives a graceful end', 'SIGTERM', 'graceful'],
    ['notices that the server was killed', 'SIGKILL', 'lost'],
  ] as const)('%s', async (_, signal, end) => {
    await python.listen('all', all);
    await python.listen('tools', { tools_list_changed: true });
    process.kill(Number(await python.callTool('process_id')), signal);
    expect(await python.nextEvent('all')).toEqual({ end });
    expect(await python.nextEvent('tools')).toEqual({ end });
  });

  test('is refused a bad filter', async () => {
    await expect(python.listen('bad', { resource_subscriptions: [''] })).rejects.toThrow(
      'MCPError -32602',
    );
  });
});

// publishChanges publishes what the SDK's server announces by itself, so that each change is
// received once.
const LISTS = [
  ['add_tool', { name: 'greet' }, 'tools/list_changed'],
  ['add_prompt', { name: 'greet' }, 'prompts/list_changed'],
  ['edit_note', { name: 'new', text: 'hello' }, 'resources/list_changed'],
] as const;
const NOTE_CHANGED = 'resources/updated note://todo';

test('the TypeScript client of 2025 on stdio receives changes of lists and of its resources', async () => {
  const session = await SessionClient.start(STDIO_SERVER);
  const { client } = session;
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });
  expect(await client.subscribeResource({ uri: 'note://todo' })).toEqual({});
  for (const [tool, args, list] of LISTS) {
    await call(tool, args);
    expect(await session.next()).toBe(list);
  }
  await call('edit_note', { name: 'todo', text: 'written' });
  expect(await session.next()).toBe(NOTE_CHANGED);
  expect((await client.readResource({ uri: 'note://todo' })).contents).toMatchObject([
    { text: 'written' },
  ]);
  expect(await client.unsubscribeResource({ uri: 'note://todo' })).toEqual({});
  await call('edit_note', { name: 'todo', text: 'unreceived' });
  await call('add_tool', { name: 'received' });
  expect(await session.next()).toBe('tools/list_changed');
  await client.close();
});

test('the Python client of 2025 on stdio receives changes of lists and of its resources', async () => {
  const python = new PythonClient([process.execPath, STDIO_SERVER], 'legacy');
  expect(await python.subscribe('note://todo')).toBe('2025-11-25');
  for (const [tool, args, list] of LISTS) {
    await python.callTool(tool, args);
    expect(await python.nextNotification()).toBe(list);
  }
  await python.callTool('edit_note', { name: 'todo', text: 'written' });
  expect(await python.nextNotification()).toBe(NOTE_CHANGED);
  await python.unsubscribe('note://todo');
  await python.callTool('edit_note', { name: 'todo', text: 'unreceived' });
  await python.callTool('add_tool', { name: 'received' });
  expect(await python.nextNotification()).toBe('tools/list_changed');
  await python.stop();
});

describe('a bus that may have lost events', () => {
  test('ends no subscription of the TypeScript client, which is resynced once', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [LOSING_SERVER],
    });
    const client = await typescriptClient(transport);
    const notifications = new Notifications(client);
    const listening = await client.listen({ toolsListChanged: true });
    process.kill(transport.pid ?? 0, 'SIGUSR2');
    expect(await notifications.next()).toBe('tools/list_changed');
    await client.callTool({ name: 'add_tool', arguments: { name: 'later' } });
    expect(await notifications.next()).toBe('tools/list_changed');
    await listening.close();
    await client.close();
  });

  test('ends no subscription of the Python client, which is resynced once', async () => {
    const python = new PythonClient([process.execPath, LOSING_SERVER]);
    await python.listen('open', { tools_list_changed: true });
    process.kill(Number(await python.callTool('process_id')), 'SIGUSR2');
    expect(await python.nextEvent('open')).toEqual({ event: 'ToolsListChanged' });
    await python.callTool('add_tool', { name: 'later' });
    expect(await python.nextEvent('open')).toEqual({ event: 'ToolsListChanged' });
    await python.stop();
  });

  test('ends no session of a client of 2025, which is resynced once', async () => {
    const session = await SessionClient.start(LOSING_SERVER);
    await session.client.subscribeResource({ uri: 'note://todo' });
    const { content } = await session.client.callTool({ name: 'process_id' });
    process.kill(Number((content as [{ text: string }])[0].text), 'SIGUSR2');
    const cues = [
      'tools/list_changed',
      'prompts/list_changed',
      'resources/list_changed',
      NOTE_CHANGED,
    ];
    const received: string[] = [];
    while (received.length < cues.length) received.push(await session.next());
    expect(received.sort()).toEqual(cues.sort());
    await session.client.callTool({
      name: 'edit_note',
      arguments: { name: 'todo', text: 'written' },
    });
    expect(await session.next()).toBe(NOTE_CHANGED);
    await session.client.close();
  });
});

// The server cancels the subscriptions that it cannot continue (2026-07-28, Cancellation); neither
// SDK treats that as a graceful end.
describe('a bus that is closed', () => {
  test('ends the subscriptions of the TypeScript client', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [LOSING_SERVER],
    });
    const client = await typescriptClient(transport);
    const listening = await client.listen({ toolsListChanged: true });
    process.kill(transport.pid ?? 0, 'SIGHUP');
    expect(await listening.closed).toBe('remote');
    await client.close();
  });

  test('ends the subscriptions of the Python client', async () => {
    const python = new PythonClient([process.execPath, LOSING_SERVER]);
    await python.listen('open', { tools_list_changed: true });
    process.kill(Number(await python.callTool('process_id')), 'SIGHUP');
    expect(await python.nextEvent('open')).toEqual({ end: 'lost' });
    await python.stop();
  });
});
