import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ListenHandler } from 'mcp-listen';
import type { ProcessBus } from 'mcp-listen/redis';
import type { BusTest } from 'mcp-listen/testing';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { acknowledged, listChanged } from '../host/listen.ts';
import { writeSnippetsOf } from '../host/snippets.ts';
import { compile, load, projectFolder } from '../node/project/compiled.ts';
import { open } from '../node/serving.ts';
import { startNats, startRedis } from './brokers/broker-process.ts';
import { Cleanup } from './cleanup.ts';

const FOLDER = projectFolder('bus-docs');
const PAGES = ['buses.md', 'redis.md', 'nats.md', 'event-log.md', 'wanted.md', 'own-bus.md'];
const cleanup = new Cleanup();

interface Polled {
  bus: ProcessBus;
  server: ListenHandler;
}

beforeAll(async () => {
  const redis = cleanup.later(await startRedis(), (it) => it.stop());
  const nats = cleanup.later(await startNats(true), (it) => it.stop());
  const here = (code: string) =>
    code.replace(':6379', `:${redis.port}`).replace(':4222', `:${nats.port}`);
  await writeSnippetsOf(PAGES, FOLDER, here);
  await writeFile(join(FOLDER, 'handler.ts'), HANDLER);
  await writeFile(join(FOLDER, 'notebook.ts'), NOTEBOOK);
  await compile(FOLDER);
});

afterAll(() => cleanup.run());

test.each(['redis', 'ioredis', 'nats', 'threads', 'events', 'polled'])(
  '%s.ts serves',
  async (name) => {
    const { bus, server } = await compiled<Polled>(name);
    await bus.ready();
    const stream = await open(server, { toolsListChanged: true });
    await stream.message();
    await server.notify.toolsChanged();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
    stream.drop();
    await server.close();
    await bus.close();
  },
);

test('polled.ts sends requests only to the server of its pages, and follows no redirect', async () => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string, { redirect }: RequestInit) => {
    asked.push(`${redirect} ${url}`);
    return new Response(null, { headers: { etag: '"1"' } });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const url = `${pathToFileURL(join(FOLDER, 'polled.js')).href}?requests`;
  const { bus, server } = (await import(/* @vite-ignore */ url)) as Polled;
  const page = 'https://pages.example/a';
  const stream = await open(server, {
    resourceSubscriptions: ['http://169.254.169.254/', 'https://pages.example.evil.example/', page],
  });
  expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: [page] }));
  expect(asked).toEqual([`manual ${page}`]);
  stream.drop();
  await server.close();
  await bus.close();
});

test('own.ts keeps the promises that own.test.ts lists', async () => {
  const { tests } = await compiled<{ tests: BusTest[] }>('own.test');
  expect(tests).toHaveLength(6);
  for (const { run } of tests) await run();
});

test('sdk.ts serves', async () => {
  const { bus, handler } = await compiled<{ bus: ProcessBus; handler: object }>('sdk');
  expect(handler).toHaveProperty('fetch');
  await bus.close();
});

function compiled<T>(name: string): Promise<T> {
  return load(FOLDER, name);
}

const NOTEBOOK = `import { McpServer } from '@modelcontextprotocol/server';
const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
const info = { name: 'notebook', version: '1.0.0' };
export const notebook = () => new McpServer(info, { capabilities });`;
const HANDLER = `import { createMcpHandler } from '@modelcontextprotocol/server';
import { notebook } from './notebook.js';
export const handler = createMcpHandler(notebook);`;
