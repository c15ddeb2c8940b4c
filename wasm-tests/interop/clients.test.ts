import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LISTEN_HEADERS, listenBody } from '../host/listen.ts';
import { npmStart, type Started } from '../host/servers/npm-start.ts';
import { PythonClient } from './clients/python.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';

// A change that never comes must not hold the lane for long.
vi.setConfig({ testTimeout: 60_000 });

let server: Started;
let python: PythonClient;
let typescript: Client;
let notifications: Notifications;

beforeAll(async () => {
  server = await npmStart();
  python = new PythonClient(server.url);
  typescript = await typescriptClient(server.url);
  notifications = new Notifications(typescript);
});

afterAll(async () => {
  await typescript?.close();
  await python?.stop();
  await server?.stop();
});

async function callTool(name: string, args: Record<string, unknown> = {}): Promise<void> {
  expect(await typescript.callTool({ name, arguments: args })).not.toHaveProperty('isError');
}

describe('the Python client receives what the TypeScript client changes', () => {
  const all = {
    tools_list_changed: true,
    prompts_list_changed: true,
    resources_list_changed: true,
  };

  beforeAll(async () => {
    const honored = await python.listen('all', { ...all, resource_subscriptions: ['note://todo'] });
    expect(honored).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://todo'],
    });
  });

  afterAll(() => python.close('all'));

  test('an updated note', async () => {
    await callTool('edit_note', { name: 'todo', text: 'written in TypeScript' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ResourceUpdated', uri: 'note://todo' });
    expect(await python.read('note://todo')).toBe('written in TypeScript');
  });

  test('a new resource', async () => {
    await callTool('edit_note', { name: 'from-typescript', text: 'hello' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ResourcesListChanged' });
    expect(await python.list('resources')).toContain('note://from-typescript');
  });

  test('a new tool', async () => {
    await callTool('connect_database', { name: 'typescript' });
    expect(await python.nextEvent('all')).toEqual({ event: 'ToolsListChanged' });
    expect(await python.list('tools')).toContain('query_typescript');
  });

  test('a new prompt', async () => {
    await callTool('add_prompt', { name: 'from-typescript', text: 'Greet.' });
    expect(await python.nextEvent('all')).toEqual({ event: 'PromptsListChanged' });
    expect(await python.list('prompts')).toContain('from-typescript');
  });
});

describe('the TypeScript client receives what the Python client changes', () => {
  let subscription: McpSubscription;

  beforeAll(async () => {
    const filter = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://todo'],
    };
    subscription = await typescript.listen(filter);
    expect(subscription.honoredFilter).toEqual(filter);
  });

  afterAll(async () => {
    await subscription.close();
    expect(await subscription.closed).toBe('local');
  });

  test('an updated note', async () => {
    await python.callTool('edit_note', { name: 'todo', text: 'written in Python' });
    expect(await notifications.next()).toBe('resources/updated note://todo');
    const { contents } = await typescript.readResource({ uri: 'note://todo' });
    expect(contents).toMatchObject([{ text: 'written in Python' }]);
  });

  test('a new resource', async () => {
    await python.callTool('edit_note', { name: 'from-python', text: 'hello' });
    expect(await notifications.next()).toBe('resources/list_changed');
    const { resources } = await typescript.listResources();
    expect(resources).toContainEqual(expect.objectContaining({ uri: 'note://from-python' }));
  });

  test('a new tool', async () => {
    await python.callTool('connect_database', { name: 'python' });
    expect(await notifications.next()).toBe('tools/list_changed');
    const { tools } = await typescript.listTools();
    expect(tools).toContainEqual(expect.objectContaining({ name: 'query_python' }));
  });

  test('a new prompt', async () => {
    await python.callTool('add_prompt', { name: 'from-python', text: 'Greet.' });
    expect(await notifications.next()).toBe('prompts/list_changed');
    const { prompts } = await typescript.listPrompts();
    expect(prompts).toContainEqual(expect.objectContaining({ name: 'from-python' }));
  });
});

describe('the TypeScript client opens a subscription by itself', () => {
  test('for the lists that it keeps, and refreshes them when the Python client changes them', async () => {
    const kept = { tools: new Kept(), prompts: new Kept(), resources: new Kept() };
    const listChanged = {
      tools: kept.tools.options,
      prompts: kept.prompts.options,
      resources: kept.resources.options,
    };
    const client = await typescriptClient(server.url, { listChanged });
    expect(client.autoOpenedSubscription?.honoredFilter).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
    });
    await python.callTool('connect_database', { name: 'kept' });
    expect(await kept.tools.next).toContainEqual(expect.objectContaining({ name: 'query_kept' }));
    await python.callTool('add_prompt', { name: 'kept', text: 'Keep.' });
    expect(await kept.prompts.next).toContainEqual(expect.objectContaining({ name: 'kept' }));
    await python.callTool('edit_note', { name: 'kept', text: '' });
    expect(await kept.resources.next).toContainEqual(
      expect.objectContaining({ uri: 'note://kept' }),
    );
    await client.close();
  });
});

describe('subscriptions of one client', () => {
  test('in TypeScript: closing one leaves the other', async () => {
    const tools = await typescript.listen({ toolsListChanged: true });
    const prompts = await typescript.listen({ promptsListChanged: true });
    await tools.close();
    expect(await tools.closed).toBe('local');
    await python.callTool('connect_database', { name: 'unreceived' });
    await python.callTool('add_prompt', { name: 'received-in-typescript', text: 'Yes.' });
    expect(await notifications.next()).toBe('prompts/list_changed');
    await prompts.close();
  });

  test('in Python: closing one leaves the other', async () => {
    await python.listen('tools', { tools_list_changed: true });
    await python.listen('prompts', { prompts_list_changed: true });
    await python.close('tools');
    await callTool('connect_database', { name: 'unreceived-too' });
    await callTool('add_prompt', { name: 'received-in-python', text: 'Yes.' });
    expect(await python.nextEvent('prompts')).toEqual({ event: 'PromptsListChanged' });
    await python.close('prompts');
  });
});

describe('the honored filter', () => {
  test('leaves out what was not asked for', async () => {
    const subscription = await typescript.listen({
      toolsListChanged: true,
      promptsListChanged: false,
    });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true });
    await subscription.close();
    expect(await python.listen('narrow', { tools_list_changed: true })).toEqual({
      toolsListChanged: true,
    });
    await python.close('narrow');
  });

  test('of an empty request is empty, and the subscription ends gracefully', async () => {
    const subscription = await typescript.listen({});
    expect(subscription.honoredFilter).toEqual({});
    expect(await subscription.closed).toBe('graceful');
    expect(await python.listen('nothing', {})).toEqual({});
    expect(await python.nextEvent('nothing')).toEqual({ end: 'graceful' });
    await python.close('nothing');
  });
});

describe('a bad filter', () => {
  test.each([
    ['null', null],
    ['a list', []],
    ['a flag that is text', { toolsListChanged: 'true' }],
    ['URIs that are one text', { resourceSubscriptions: 'note://todo' }],
    ['an empty URI', { resourceSubscriptions: [''] }],
  ])('%s is refused with -32602', async (_, filter) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: listenBody(filter),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  test('reaches the user of the TypeScript client as an error', async () => {
    const filter = { resourceSubscriptions: [''] };
    await expect(typescript.listen(filter)).rejects.toMatchObject({ code: -32602 });
  });

  test('reaches the user of the Python client as an error', async () => {
    await expect(python.listen('bad', { resource_subscriptions: [''] })).rejects.toThrow(
      'MCPError -32602',
    );
  });
});

/** The next refreshed list of a client that keeps one. */
class Kept {
  readonly next: Promise<unknown[]>;
  readonly options: { onChanged: (error: Error | null, items: unknown[] | null) => void };

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.next = promise;
    this.options = {
      onChanged: (error, items) => (error === null ? resolve(items ?? []) : reject(error)),
    };
  }
}
