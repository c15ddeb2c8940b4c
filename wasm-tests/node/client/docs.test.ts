import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Watch } from 'mcp-listen/client';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';
import { writeSnippets } from '../../host/snippets.ts';
import { STDIO_SERVER } from '../../host/stdio.ts';
import { typescriptClient } from '../../interop/typescript-client.ts';
import { served } from './serving.ts';

// Inside the project, so that its own name resolves.
const FOLDER = join(root, '.build', 'client-docs');
let host: Awaited<ReturnType<typeof served>>;
let written: string[];
/** What was run. */
const ran = new Set<string>();

beforeAll(async () => {
  host = await served();
  written = await writeSnippets(FOLDER, host.url);
  await writeFile(join(FOLDER, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  // What tsc says of a snippet is the failure.
  await run('tsc', ['-p', FOLDER]);
}, 60_000);

// A stream that its client closed is still there for a moment.
afterEach(() => expect.poll(() => host.bus.attached).toBe(0));
afterAll(() => host.stop());

function compiled<T>(name: string): Promise<T> {
  ran.add(`${name}.ts`);
  return import(/* @vite-ignore */ pathToFileURL(join(FOLDER, `${name}.js`)).href) as Promise<T>;
}

/** Runs a snippet that watches, until it has heard of a change. */
async function hears(begin: (changed: () => void) => Watch, change: () => Promise<unknown>) {
  let heard = 0;
  const watched = begin(() => {
    heard += 1;
  });
  await expect.poll(() => heard, { timeout: 10_000 }).toBe(1);
  await change();
  await expect.poll(() => heard, { timeout: 10_000 }).toBe(2);
  await watched.close();
}

test('the notes are watched, and a component is rendered on a server too', async () => {
  const { notes } = await compiled<{ notes: Watch }>('notes');
  await expect.poll(() => notes.state).toBe('live');
  const { useStatus } = await compiled<{ useStatus(): string }>('status');
  expect(renderToString(createElement(() => useStatus()))).toBe('connecting');
  await notes.close();
  expect(notes.state).toBe('stopped');
});

test('the first change is waited for', async () => {
  const { firstChange } = await compiled<{ firstChange(url: string): Promise<string> }>('once');
  const change = firstChange(host.url);
  await expect.poll(() => host.bus.attached).toBe(1);
  await host.server.notify.toolsChanged();
  expect(await change).toBe('tools_list_changed');
  expect(await firstChange('http://127.0.0.1:1/mcp')).toBe('lost: disconnected');
});

test('a token is asked for', async () => {
  const { watchAs } = await compiled<{
    watchAs(url: string, token: () => Promise<string>, changed: () => void): Watch;
  }>('token');
  let asked = 0;
  const token = () => {
    asked += 1;
    return Promise.resolve('fresh');
  };
  await hears(
    (changed) => watchAs(host.url, token, changed),
    () => host.server.notify.toolsChanged(),
  );
  expect(asked).toBeGreaterThan(0);
});

test('a process is watched', async () => {
  const { watchProcess } = await compiled<{
    watchProcess(command: string, args: string[], changed: () => void): Watch;
  }>('stdio');
  let heard = 0;
  const watched = watchProcess(process.execPath, [STDIO_SERVER], () => {
    heard += 1;
  });
  await expect.poll(() => heard, { timeout: 10_000 }).toBe(1);
  await watched.close();
});

test('a client of the SDK lends its transport', async () => {
  const { watchWith } = await compiled<{ watchWith(client: object, changed: () => void): Watch }>(
    'sdk',
  );
  const client = await typescriptClient(host.url);
  await hears(
    (changed) => watchWith(client, changed),
    () => host.server.notify.toolsChanged(),
  );
  await client.close();
});

test('there is no other program', () => {
  expect([...ran].sort()).toEqual(written.toSorted());
});

const TSCONFIG = {
  extends: '../../tsconfig.base.json',
  compilerOptions: {
    composite: false,
    declaration: false,
    sourceMap: false,
    skipLibCheck: true,
    lib: ['ES2024', 'ESNext.Disposable', 'WebWorker'],
    types: ['node'],
  },
};
