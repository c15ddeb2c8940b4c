import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { environment, run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { EVERYTHING, LISTEN_HEADERS, listenBody } from '../host/listen.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';

// A change that never comes must not hold the lane for long. Compiling takes minutes, and may wait
// for the lane that compiles the tower layer.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 1_800_000 });

// Not target/, which a parallel lane locks while it compiles.
const targetDir = join('target', 'tower');

let server: ChildProcess;
let url: string;
let client: Client;
let notifications: Notifications;

beforeAll(async () => {
  await run('cargo', [
    'build',
    '--manifest-path',
    'examples/axum/Cargo.toml',
    '--target-dir',
    targetDir,
  ]);
  const program = join(root, targetDir, 'debug', 'mcp-listen-axum');
  server = spawn(program, {
    env: { ...environment, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (server.stdout === null) throw new Error('the server has no output');
  [url] = await once(createInterface(server.stdout), 'line');
  client = await typescriptClient(url);
  notifications = new Notifications(client);
});

afterAll(async () => {
  await client?.close();
  server?.kill('SIGKILL');
});

async function publish(event: object, changed: Record<string, string> = {}): Promise<number> {
  const headers = { 'Content-Type': 'application/json', ...changed };
  const { status } = await fetch(new URL('/publish', url), {
    method: 'POST',
    headers,
    body: JSON.stringify(event),
  });
  return status;
}

test('a client receives from a server in Rust what it subscribed to, and nothing else', async () => {
  const subscription = await client.listen(EVERYTHING);
  expect(subscription.honoredFilter).toEqual(EVERYTHING);
  expect(await publish({ kind: 'resource_updated', uri: 'note://other' })).toBe(204);
  for (const kind of ['tools_list_changed', 'prompts_list_changed', 'resources_list_changed']) {
    expect(await publish({ kind })).toBe(204);
    expect(await notifications.next()).toBe(kind.replace('_', '/'));
  }
  expect(await publish({ kind: 'resource_updated', uri: 'note://todo' })).toBe(204);
  expect(await notifications.next()).toBe('resources/updated note://todo');
  await subscription.close();
});

test('an invalid event is not published', async () => {
  expect(await publish({ kind: 'something' })).toBe(400);
});

test('a foreign page cannot publish, neither with a simple request nor with JSON', async () => {
  const subscription = await client.listen({ toolsListChanged: true });
  const event = { kind: 'tools_list_changed' };
  expect(
    await publish(event, { Origin: 'https://evil.example', 'Content-Type': 'text/plain' }),
  ).toBe(403);
  expect(await publish(event, { Origin: 'https://evil.example' })).toBe(403);
  expect(await publish(event, { 'Content-Type': 'text/plain' })).toBe(415);
  const preflight = await fetch(new URL('/publish', url), {
    method: 'OPTIONS',
    headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' },
  });
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
  expect(await publish({ kind: 'disconnect', principal: 'ann' })).toBe(400);
  expect(await publish(event)).toBe(204);
  expect(await notifications.next()).toBe('tools/list_changed');
  await subscription.close();
});

test('foreign pages, invalid bodies and malformed listens are refused', async () => {
  const listen = (
    changed: Record<string, string>,
    body = listenBody({ toolsListChanged: true }),
  ) => {
    const headers = new Headers(LISTEN_HEADERS);
    for (const [name, value] of Object.entries(changed)) headers.set(name, value);
    return fetch(url, { method: 'POST', headers, body });
  };
  expect((await listen({ Origin: 'https://elsewhere.example' })).status).toBe(403);
  expect((await listen({}, '{')).status).toBe(400);
  expect((await listen({ Accept: 'application/json' })).status).toBe(406);
  expect((await listen({}, ' '.repeat(70_000))).status).toBe(413);
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { Origin: 'http://localhost:5173', 'Access-Control-Request-Method': 'POST' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'http://localhost:5173',
  ]);
});

test('a server closes its streams gracefully on SIGTERM, and exits', async () => {
  const subscription = await client.listen({ toolsListChanged: true });
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  expect(await subscription.closed).toBe('graceful');
  await client.close();
  expect(await ended).toEqual([0, null]);
});
