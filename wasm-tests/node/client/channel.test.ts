import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { listen, watch } from 'mcp-listen/client';
import { stdio } from 'mcp-listen/client/stdio';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { firstKind } from '../../host/first-kind.ts';
import { sdkSessions } from '../../host/sessions/sdk.ts';
import { STDIO_SERVER } from '../../host/stdio.ts';
import { typescriptClient } from '../../interop/clients/typescript.ts';
import { served } from './serving.ts';

// Each starts a process.
vi.setConfig({ testTimeout: 60_000 });

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://todo'] };
const SERVER = { command: process.execPath, args: [STDIO_SERVER] };

describe('a server on stdio', () => {
  test.each(['auto', '2026-07-28', '2025'] as const)(
    'is started and subscribed to (%s)',
    async (revision) => {
      const sent: string[] = [];
      const subscription = await listen(stdio(SERVER), FILTER, {
        revision,
        onMessage: ({ direction, text }) =>
          direction === 'out' && sent.push(JSON.parse(text).method),
      });
      expect(subscription.honored).toEqual(FILTER);
      expect(subscription.revision).toBe(revision === '2025' ? '2025-11-25' : '2026-07-28');
      await subscription.close();
      expect(sent.at(-1)).toBe(
        revision === '2025' ? 'resources/unsubscribe' : 'notifications/cancelled',
      );
    },
  );

  test('that already runs is shared with its other clients', async () => {
    const child = spawn(SERVER.command, SERVER.args);
    onTestFinished(() => void child.kill());
    const one = await listen(stdio(child), FILTER);
    const other = await listen(stdio(child), FILTER);
    expect(one.id).not.toBe(other.id);
    await other.close();
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'add_tool', arguments: { name: 'greet' } },
    };
    child.stdin.write(`${JSON.stringify({ ...call, params: { ...call.params, _meta: META } })}\n`);
    expect(await firstKind(one)).toBe('tools_list_changed');
  });

  test('that exits is reported as disconnected, and a watch starts it again', async () => {
    const child = spawn(SERVER.command, SERVER.args);
    const subscription = await listen(stdio(child), FILTER);
    child.kill('SIGKILL');
    await expect(firstKind(subscription)).rejects.toMatchObject({ code: 'disconnected' });
    const starts: string[] = [];
    const watched = watch(
      stdio({ command: process.execPath, args: ['-e', 'setTimeout(() => {}, 50)'] }),
      FILTER,
      () => {},
      { onError: ({ code }) => starts.push(code) },
    );
    onTestFinished(() => watched.close());
    await expect.poll(() => starts.length).toBeGreaterThan(1);
    expect(new Set(starts)).toEqual(new Set(['disconnected']));
  });

  test('is stopped by closing its input first', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-stdio-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'said');
    const say = (word: string) => `require('fs').writeFileSync(${JSON.stringify(file)}, '${word}')`;
    const program = `process.stdin.resume().on('end', () => ${say('bye')}); ${say('hello')}`;
    const silent = stdio({ command: process.execPath, args: ['-e', program] });
    const said = () => readFile(file, 'utf8').catch(() => '');
    const abort = new AbortController();
    const left = expect(listen(silent, FILTER, { signal: abort.signal })).rejects.toThrow('enough');
    await expect.poll(said).toBe('hello');
    abort.abort(new Error('enough'));
    await left;
    await expect.poll(said).toBe('bye');
  });

  test('that cannot be started is reported as disconnected', async () => {
    await expect(listen(stdio({ command: 'no-such-program' }), FILTER)).rejects.toMatchObject({
      code: 'disconnected',
    });
  });
});

test('a server on stdio that never responds is reported as ack-timeout', async () => {
  const silent = stdio({ command: process.execPath, args: ['-e', 'process.stdin.resume()'] });
  await expect(listen(silent, FILTER, { ackTimeoutMs: 100 })).rejects.toMatchObject({
    code: 'ack-timeout',
  });
});

test('a process that has exited is reported as disconnected at each attempt', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  child.stdout.resume();
  await once(child, 'close');
  await expect(listen(stdio(child), FILTER)).rejects.toMatchObject({ code: 'disconnected' });
  const codes: string[] = [];
  const watched = watch(stdio(child), FILTER, () => {}, {
    onError: ({ code }) => codes.push(code),
  });
  onTestFinished(() => watched.close());
  await expect.poll(() => codes.length).toBeGreaterThan(1);
  expect(new Set(codes)).toEqual(new Set(['disconnected']));
});

describe('a client of an SDK', () => {
  test('lends its connection to stdio, and keeps its own messages', async () => {
    const client = await typescriptClient(new StdioClientTransport(SERVER));
    onTestFinished(() => client.close());
    const subscription = await listen(client, FILTER);
    await client.callTool({ name: 'add_tool', arguments: { name: 'greet' } });
    expect(await firstKind(subscription)).toBe('tools_list_changed');
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });

  test('lends its connection over HTTP', async () => {
    const host = await served();
    onTestFinished(() => host.stop());
    const client = await typescriptClient(new StreamableHTTPClientTransport(new URL(host.url)));
    onTestFinished(() => client.close());
    const subscription = await listen(client, { toolsListChanged: true });
    expect(subscription.revision).toBe('2026-07-28');
    await host.server.notify.toolsChanged();
    expect(await firstKind(subscription)).toBe('tools_list_changed');
    await expect.poll(() => host.bus.attached).toBe(0);
  });

  test('of 2025 lends its session', async () => {
    const sdk = await sdkSessions();
    onTestFinished(() => sdk.stop());
    const client = new OldClient({ name: 'old', version: '1.0.0' });
    await client.connect(new OldTransport(new URL(sdk.url)) as Parameters<OldClient['connect']>[0]);
    onTestFinished(() => client.close());
    const subscription = await listen(client, { resourceSubscriptions: ['note://a'] });
    expect(subscription.honored).toEqual({ resourceSubscriptions: ['note://a'] });
    await sdk.update('note://a');
    expect(await firstKind(subscription)).toBe('resource_updated');
  });

  test('that closes is reported as disconnected', async () => {
    const client = await typescriptClient(new StdioClientTransport(SERVER));
    const subscription = await listen(client, FILTER);
    await client.close();
    await expect(firstKind(subscription)).rejects.toMatchObject({ code: 'disconnected' });
    await expect(listen(new Client({ name: 'c', version: '1' }), FILTER)).rejects.toMatchObject({
      code: 'disconnected',
    });
  });
});

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
};
