import { QueryClient } from '@tanstack/query-core';
import type { Watch } from 'mcp-listen/client';
import type { SharedWatch } from 'mcp-listen/client/store';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { writeSnippets } from '../../host/snippets.ts';
import { STDIO_SERVER } from '../../host/stdio.ts';
import { typescriptClient } from '../../interop/clients/typescript.ts';
import { compile, load, projectFolder } from '../project/compiled.ts';
import { served } from './serving.ts';

const FOLDER = projectFolder('client-docs');
let host: Awaited<ReturnType<typeof served>>;
let written: string[];
/** The snippets that were loaded. */
const loaded = new Set<string>();

beforeAll(async () => {
  host = await served();
  written = await writeSnippets(FOLDER, host.url);
  await compile(FOLDER);
}, 60_000);

// The server notices that a client has closed its stream a moment later.
afterEach(() => expect.poll(() => host.bus.attached).toBe(0));
afterAll(() => host.stop());

function compiled<T>(name: string): Promise<T> {
  loaded.add(`${name}.ts`);
  return load(FOLDER, name);
}

/** Runs a snippet that watches until it has read a change. */
async function expectReads(begin: (changed: () => void) => Watch, change: () => Promise<unknown>) {
  let reads = 0;
  const watched = begin(() => {
    reads += 1;
  });
  await expect.poll(() => reads).toBe(1);
  await change();
  await expect.poll(() => reads).toBe(2);
  await watched.close();
}

test('notes.ts watches, and status.ts renders on a server too', async () => {
  const { notes } = await compiled<{ notes: Watch }>('notes');
  await expect.poll(() => notes.state).toBe('live');
  const { useStatus } = await compiled<{ useStatus(): string }>('status');
  expect(renderToString(createElement(() => useStatus()))).toBe('connecting');
  await notes.close();
  expect(notes.state).toBe('stopped');
});

test('once.ts waits for the first change', async () => {
  const { firstChange } = await compiled<{ firstChange(url: string): Promise<string> }>('once');
  const change = firstChange(host.url);
  await expect.poll(() => host.bus.attached).toBe(1);
  await host.server.notify.toolsChanged();
  expect(await change).toBe('tools_list_changed');
  expect(await firstChange('http://127.0.0.1:1/mcp')).toBe('lost: disconnected');
});

test('token.ts calls its token provider', async () => {
  const { watchAs } = await compiled<{
    watchAs(url: string, token: () => Promise<string>, changed: () => void): Watch;
  }>('token');
  let asked = 0;
  const token = () => {
    asked += 1;
    return Promise.resolve('fresh');
  };
  await expectReads(
    (changed) => watchAs(host.url, token, changed),
    () => host.server.notify.toolsChanged(),
  );
  expect(asked).toBeGreaterThan(0);
});

test('stdio.ts watches a process', async () => {
  const { watchProcess } = await compiled<{
    watchProcess(command: string, args: string[], changed: () => void): Watch;
  }>('stdio');
  let reads = 0;
  const watched = watchProcess(process.execPath, [STDIO_SERVER], () => {
    reads += 1;
  });
  await expect.poll(() => reads).toBe(1);
  await watched.close();
});

test('sdk.ts uses the transport of a client of the SDK', async () => {
  const { watchWith } = await compiled<{ watchWith(client: object, changed: () => void): Watch }>(
    'sdk',
  );
  const client = await typescriptClient(host.url);
  await expectReads(
    (changed) => watchWith(client, changed),
    () => host.server.notify.toolsChanged(),
  );
  await client.close();
});

test('changes.ts counts, and queries.ts invalidates, over the stream of shared.ts', async () => {
  const { mcp } = await compiled<{ mcp: SharedWatch }>('shared');
  const { useChanges } = await compiled<{ useChanges(uri: string): number }>('changes');
  const { invalidateChanged } = await compiled<{
    invalidateChanged(queries: QueryClient, uris: string[]): () => void;
  }>('queries');
  expect(renderToString(createElement(() => `${useChanges('note://a')}`))).toBe('0');
  const queries = new QueryClient();
  queries.setQueryData(['tools'], []);
  const stop = invalidateChanged(queries, ['note://a']);
  const isStale = () => queries.getQueryState(['tools'])?.isInvalidated;
  await expect.poll(isStale).toBe(true);
  queries.setQueryData(['tools'], []);
  await host.server.notify.toolsChanged();
  await expect.poll(isStale).toBe(true);
  expect(host.bus.attached).toBe(1);
  stop();
  queries.clear();
  await mcp.close();
});

test('every program of the page has run', () => {
  expect([...loaded].sort()).toEqual(written.toSorted());
});
