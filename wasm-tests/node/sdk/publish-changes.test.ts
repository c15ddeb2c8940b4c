import { createMcpHandler, type McpServer, Server } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, publishChanges } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { open, TOOLS } from '../serving.ts';
import {
  type Change,
  calling,
  changingServer,
  promptResult,
  published,
  readResource,
  recording,
  recordingSdkBus,
  template,
  toolResult,
} from './changing-server.ts';

const UPDATED = { kind: 'resource_updated', uri: 'note://a' };
const NOTIFICATION = {
  method: 'notifications/resources/updated',
  params: { uri: 'note://a' },
} as const;

describe.each(['2026-07-28', '2025-11-25'] as const)(
  'what a tool changes for a client of %s is published once',
  (revision) => {
    test.each<[string, string, Change]>([
      ['tools', 'registerTool', ({ server }) => server.registerTool('new', {}, toolResult)],
      ['tools', 'enable', ({ tool }) => tool.enable()],
      ['tools', 'disable', ({ tool }) => tool.disable()],
      ['tools', 'update', ({ tool }) => tool.update({ description: 'new' })],
      ['tools', 'remove', ({ tool }) => tool.remove()],
      ['tools', 'sendToolListChanged', ({ server }) => server.sendToolListChanged()],
      ['tools', 'sendToolListChanged below', ({ server }) => server.server.sendToolListChanged()],
      ['prompts', 'registerPrompt', ({ server }) => server.registerPrompt('new', {}, promptResult)],
      ['prompts', 'disable', ({ prompt }) => prompt.disable()],
      [
        'prompts',
        'sendPromptListChanged below',
        ({ server }) => server.server.sendPromptListChanged(),
      ],
      [
        'resources',
        'registerResource',
        ({ server }) => server.registerResource('new', 'note://new', {}, readResource),
      ],
      [
        'resources',
        'registerResource of a template',
        ({ server }) => server.registerResource('t', template(), {}, readResource),
      ],
      ['resources', 'remove', ({ resource }) => resource.remove()],
      [
        'resources',
        'sendResourceListChanged below',
        ({ server }) => server.server.sendResourceListChanged(),
      ],
    ])('%s: %s', async (list, _, change) => {
      const { batches, text } = await published(change, revision);
      expect(batches).toEqual([[{ kind: `${list}_list_changed` }]]);
      expect(text).toContain('Done.');
    });

    test.each<[string, Change]>([
      [
        'sendResourceUpdated',
        ({ server }) => server.server.sendResourceUpdated({ uri: 'note://a' }),
      ],
      ['a notification of the server', ({ server }) => server.server.notification(NOTIFICATION)],
      ['a notification about the request', ({ context }) => context.mcpReq.notify(NOTIFICATION)],
    ])('a resource: %s', async (_, change) => {
      const { batches, text } = await published(change, revision);
      expect(batches).toEqual([[UPDATED]]);
      expect(text).not.toContain('updated');
    });
  },
);

describe('changes', () => {
  test('of one turn are published together, each subject once and in order', async () => {
    const { batches } = await published(({ server, tool, prompt }) => {
      prompt.disable();
      for (const name of ['one', 'two', 'three']) server.registerTool(name, {}, toolResult);
      tool.remove();
      prompt.enable();
      return Promise.all(
        ['a', 'b', 'a'].map((name) => server.server.sendResourceUpdated({ uri: `note://${name}` })),
      );
    });
    expect(batches).toEqual([
      [
        { kind: 'prompts_list_changed' },
        { kind: 'tools_list_changed' },
        UPDATED,
        { kind: 'resource_updated', uri: 'note://b' },
      ],
    ]);
  });

  test('of different turns are published one after another', async () => {
    const { batches } = await published(async ({ server, tool }) => {
      tool.disable();
      await server.server.sendResourceUpdated({ uri: 'note://a' });
      tool.enable();
    });
    expect(batches).toEqual([
      [{ kind: 'tools_list_changed' }, UPDATED],
      [{ kind: 'tools_list_changed' }],
    ]);
  });

  test('do not include those of the factory', async () => {
    const { batches } = await published(() => {});
    expect(batches).toEqual([]);
  });

  test('are published after the response too', async () => {
    const later: { change?: () => Promise<void> } = {};
    const { batches } = await published(({ server, tool }) => {
      later.change = async () => {
        tool.disable();
        await server.server.sendResourceUpdated({ uri: 'note://a' });
      };
    });
    await later.change?.();
    expect(batches).toEqual([[{ kind: 'tools_list_changed' }, UPDATED]]);
  });
});

describe('the changes', () => {
  test('of a low-level Server are published', async () => {
    const { bus, batches } = recording();
    const factory = publishChanges(() => new Server({ name: 'low', version: '1.0.0' }), bus);
    const server = await factory();
    await server.sendToolListChanged();
    expect(batches).toEqual([[{ kind: 'tools_list_changed' }]]);
  });

  test('of a server that its factory returns again are published once', async () => {
    const { bus, batches } = recording();
    const { factory, server, handler } = shared(({ tool }) => tool.disable(), bus);
    for (let call = 0; call < 2; call += 1)
      await (await handler.fetch(calling('2026-07-28'))).text();
    const { connect } = server.server;
    await factory();
    expect(server.server.connect).toBe(connect);
    server.registerTool('between', {}, toolResult);
    await expect
      .poll(() => batches)
      .toEqual(Array.from({ length: 3 }, () => [{ kind: 'tools_list_changed' }]));
  });

  test('reach a bus of the SDK, and other notifications reach the caller', async () => {
    const { bus, events } = recordingSdkBus();
    const change: Change = async ({ context, tool }) => {
      tool.disable();
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken: 'progress', progress: 1 },
      });
    };
    const handler = createMcpHandler(publishChanges(changingServer(change), bus));
    expect(await (await handler.fetch(calling('2025-11-25'))).text()).toContain(
      '"progressToken":"progress"',
    );
    expect(events).toEqual([{ kind: 'tools_list_changed' }]);
  });
});

test('a stream receives each change once', async () => {
  const bus = new InMemoryBus();
  const change: Change = async ({ server, tool }) => {
    tool.disable();
    tool.enable();
    await server.server.sendResourceUpdated({ uri: 'note://a' });
  };
  const server = createListenHandler(
    createMcpHandler(publishChanges(changingServer(change), bus)),
    { bus },
  );
  const filter = { ...TOOLS, resourceSubscriptions: ['note://a'] };
  const stream = await open(server, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  await (await server.fetch(calling('2026-07-28'))).text();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  await server.close();
  expect(await stream.message()).toContain('"result"');
});

describe('a change that the bus refuses', () => {
  const lost = new Error('lost');
  const broken = { publish: () => Promise.reject(lost), subscribe: () => () => {} };

  test('is reported once to onError where a handle made it, and fails no call', async () => {
    const onError = vi.fn();
    const factory = publishChanges(
      changingServer(({ tool }) => tool.disable()),
      broken,
      { onError },
    );
    const response = await createMcpHandler(factory).fetch(calling('2026-07-28'));
    expect(await response.text()).toContain('Done.');
    expect(onError.mock.calls).toEqual([[lost]]);
  });

  test('rejects where a caller awaits it', async () => {
    const onError = vi.fn();
    const change: Change = ({ server }) => server.server.sendResourceUpdated({ uri: 'note://a' });
    const factory = publishChanges(changingServer(change), broken, { onError });
    const response = await createMcpHandler(factory).fetch(calling('2026-07-28'));
    expect(await response.text()).toContain('"isError":true');
    expect(onError.mock.calls).toEqual([[lost]]);
  });

  test('does not block other changes of the same turn', async () => {
    const { batches } = await published(async ({ server, tool }) => {
      tool.disable();
      await expect(server.server.sendResourceUpdated({ uri: '' })).rejects.toThrow('uri');
    });
    expect(batches).toContainEqual([{ kind: 'tools_list_changed' }]);
  });
});

/** One server for all requests, which the SDK accepts while they come one at a time. */
function shared(change: Change, bus: InMemoryBus) {
  const server: McpServer = changingServer(change)();
  const factory = publishChanges(() => server, bus);
  return { factory, server, handler: createMcpHandler(factory) };
}
