import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { listen, type Watch, watch } from 'mcp-listen/client';
import { stdio } from 'mcp-listen/client/stdio';
import { shareWatch } from 'mcp-listen/client/store';
import { expect, onTestFinished, test } from 'vitest';
import { firstKind } from '../../host/first-kind.ts';
import { sdkSessions, subscribable } from '../../host/sessions/sdk.ts';
import { STDIO_SERVER } from '../../host/stdio.ts';

const [A, B] = ['note://a', 'note://b'];

test('a resource is unsubscribed when the last subscription of a session to it closes', async () => {
  const { client, subscribed, unsubscribed, update } = await session();
  const both = await listen(client, resources(A, B));
  const one = await listen(client, resources(A));
  await both.close();
  await expect.poll(() => unsubscribed).toEqual([B]);
  expect([...subscribed]).toEqual([A]);
  await update(A);
  expect(await firstKind(one)).toBe('resource_updated');
  await expect.poll(() => unsubscribed).toEqual([B, A]);
});

test('a message that is not sent, because another subscription needs the resource, is not logged', async () => {
  const { client } = await session();
  const sent: string[] = [];
  const onMessage = ({ direction, text }: { direction: string; text: string }) => {
    if (direction === 'out') sent.push(JSON.parse(text).method);
  };
  const one = await listen(client, resources(A), { onMessage });
  const other = await listen(client, resources(A), { onMessage });
  await one.close();
  await other.close();
  expect(sent).toEqual([...Array(2).fill('resources/subscribe'), 'resources/unsubscribe']);
});

test('a subscription to which a resource was refused does not keep it subscribed', async () => {
  const { client, refused, unsubscribed } = await session();
  const one = await listen(client, resources(A));
  refused.add(A);
  const other = await listen(client, resources(A, B));
  expect(other.honored).toEqual(resources(B));
  await one.close();
  await expect.poll(() => unsubscribed).toEqual([A]);
  await other.close();
  await expect.poll(() => unsubscribed).toEqual([A, B]);
});

test('a resource that is subscribed to while another subscription closes is still reported', async () => {
  const { client, unsubscribed, update } = await session();
  const one = await listen(client, resources(A));
  const opening = listen(client, resources(A));
  await one.close();
  const other = await opening;
  await update(A);
  expect(await firstKind(other)).toBe('resource_updated');
  await expect.poll(() => unsubscribed).toEqual([A]);
});

test('a resource whose last subscription has just closed can be subscribed to at once', async () => {
  const { client, subscribed, unsubscribed } = await session(async (input, init) => {
    if (String(init?.body).includes('"resources/unsubscribe"')) await pause(200);
    return fetch(input, init);
  });
  const one = await listen(client, resources(A));
  await one.close();
  const other = await listen(client, resources(A));
  await expect.poll(() => unsubscribed).toEqual([A]);
  expect([...subscribed]).toEqual([A]);
  await other.close();
});

test('subscriptions of an earlier session of a client keep nothing subscribed in the next one', async () => {
  const { client, connect, unsubscribed } = await session();
  const lost = await listen(client, resources(A));
  await client.close();
  await expect(firstKind(lost)).rejects.toMatchObject({ code: 'disconnected' });
  await connect();
  const subscription = await listen(client, resources(A));
  await subscription.close();
  await expect.poll(() => unsubscribed).toEqual([A]);
});

test('a shared watch on a session receives what it watched before its filter changed', async () => {
  const { client, update } = await session();
  const watches: Watch[] = [];
  const shared = shareWatch((filter, handlers) => {
    const opened = watch(client, filter, handlers);
    watches.push(opened);
    return opened;
  });
  onTestFinished(() => shared.close());
  const calls: string[] = [];
  const handler = { resource: (uri: string) => calls.push(uri) };
  shared.watch(resources(A), handler);
  await expect.poll(() => calls).toEqual([A]);
  shared.watch(resources(B), handler);
  await expect.poll(() => watches.map(({ state }) => state)).toEqual(['stopped', 'live']);
  calls.length = 0;
  await update(A);
  await update(B);
  await expect.poll(() => calls).toEqual([A, B]);
});

test('a subscription of 2025 to a process receives a resource that another one no longer watches', async () => {
  const child = spawn(process.execPath, [STDIO_SERVER]);
  onTestFinished(() => void child.kill());
  const options = { revision: '2025' } as const;
  const one = await listen(stdio(child), resources('note://todo'), options);
  const other = await listen(stdio(child), resources('note://todo'), options);
  await one.close();
  const params = { name: 'edit_note', arguments: { name: 'todo', text: 'Something.' } };
  const call = { jsonrpc: '2.0', id: 'edit', method: 'tools/call', params };
  child.stdin.write(`${JSON.stringify(call)}\n`);
  expect(await firstKind(other)).toBe('resource_updated');
});

function resources(...resourceSubscriptions: string[]) {
  return { resourceSubscriptions };
}

/** A client of the SDK of 2025, in a session whose server notifies it of what it subscribes to. */
async function session(fetch = globalThis.fetch) {
  const subscribed = new Set<string>();
  const unsubscribed: string[] = [];
  const refused = new Set<string>();
  const sdk = await sdkSessions(() => {
    const server = subscribable();
    server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
      if (refused.has(uri)) throw new Error('refused');
      subscribed.add(uri);
      return {};
    });
    server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      subscribed.delete(uri);
      unsubscribed.push(uri);
      return {};
    });
    return server;
  });
  onTestFinished(() => sdk.stop());
  const client = new Client({ name: 'old', version: '1.0.0' });
  onTestFinished(() => client.close());
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(sdk.url), { fetch });
    return client.connect(transport as Parameters<Client['connect']>[0]);
  };
  await connect();
  const update = async (uri: string) => {
    if (subscribed.has(uri)) await sdk.update(uri);
  };
  return { client, connect, refused, subscribed, unsubscribed, update };
}
