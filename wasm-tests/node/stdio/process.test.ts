import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { acknowledged, EVERYTHING, listChanged, listenBody, updated } from '../../host/listen.ts';
import { callLine, cancelLine, resultLine, STDIO_SERVER, StdioProcess } from '../../host/stdio.ts';

const TOOLS = { toolsListChanged: true };
const SERVER_INFO = { name: 'notes', version: '1.0.0' };

/** A module with which a process fails if a timer keeps it alive after the end of its input. */
const TIMER_WATCH = `data:text/javascript,${encodeURIComponent(`
  process.stdin.once('close', () => setImmediate(() => {
    if (process.getActiveResourcesInfo().includes('Timeout')) process.exitCode = 1;
  }));
`)}`;

let server: StdioProcess;

beforeEach(() => {
  server = new StdioProcess();
});

afterEach(async () => {
  server.child.stdin.end();
  await server.exit();
  expect(server.complaints).toBe('');
});

/** Opens a subscription up to its acknowledgment. */
async function open(id: string, filter: object): Promise<void> {
  server.send(listenBody(filter, id));
  expect(await server.next()).toBe(acknowledged(id, filter));
}

/** Calls a tool; returns the lines before its response. */
async function call(name: string, args: object): Promise<string[]> {
  server.send(callLine('"call"', name, args));
  const lines: string[] = [];
  for (
    let line = await server.next();
    line !== undefined && !line.includes('"id":"call"');
    line = await server.next()
  ) {
    lines.push(line);
  }
  return lines;
}

test('every kind of change reaches a client that subscribed to it', async () => {
  await open('1', EVERYTHING);
  expect(await call('add_tool', { name: 'greet' })).toEqual([listChanged('1', 'tools')]);
  expect(await call('add_prompt', { name: 'greet' })).toEqual([listChanged('1', 'prompts')]);
  expect(await call('edit_note', { name: 'new', text: '' })).toEqual([
    listChanged('1', 'resources'),
  ]);
  expect(await call('edit_note', { name: 'todo', text: '' })).toEqual([
    updated('1', 'note://todo'),
  ]);
});

test('subscriptions share the pipe, and a cancel ends exactly one of them', async () => {
  await open('1', TOOLS);
  await open('"1"', TOOLS);
  expect(await call('add_tool', { name: 'a' })).toEqual([
    listChanged('1', 'tools'),
    listChanged('"1"', 'tools'),
  ]);
  server.send(cancelLine('1'));
  expect(await call('add_tool', { name: 'b' })).toEqual([listChanged('"1"', 'tools')]);
  server.send(cancelLine('"1"'));
  expect(await call('add_tool', { name: 'c' })).toEqual([]);
});

test('nothing is sent without a listen', async () => {
  expect(await call('add_tool', { name: 'a' })).toEqual([]);
});

test('garbage and cancels of unknown ids are ignored', async () => {
  await open('1', TOOLS);
  for (const line of ['', 'garbage', '[]', cancelLine('7'), cancelLine('null'), cancelLine('{}')])
    server.send(line);
  expect(await call('add_tool', { name: 'a' })).toEqual([listChanged('1', 'tools')]);
});

test('a graceful end sends each subscription its result, and the process ends', async () => {
  await open('1', TOOLS);
  await open('2', TOOLS);
  server.child.kill('SIGTERM');
  expect([await server.next(), await server.next()]).toEqual([
    resultLine('1', SERVER_INFO),
    resultLine('2', SERVER_INFO),
  ]);
  expect(await server.next()).toBeUndefined();
  expect(await server.exit()).toBe(0);
});

test('the end of the input ends the process at once, without output', async () => {
  const watched = new StdioProcess('--import', TIMER_WATCH, STDIO_SERVER);
  watched.send(listenBody(TOOLS, '1'));
  expect(await watched.next()).toBe(acknowledged('1', TOOLS));
  watched.child.stdin.end();
  expect(await watched.next()).toBeUndefined();
  expect(await watched.exit()).toBe(0);
});

test('the end of the input ends a process whose upstream server never responds', async () => {
  // Its request to the upstream server waits for longer than this test.
  const script = `import { serveListenStdio } from 'mcp-listen/node';
    serveListenStdio(() => {}, { timeouts: { attachMs: 600_000 } });`;
  const mute = new StdioProcess('--input-type=module', '--eval', script);
  onTestFinished(() => void mute.child.kill());
  mute.send(listenBody(TOOLS, '1'));
  mute.send(listenBody(null, '2'));
  expect(await mute.next()).toContain('"id":2,"error"');
  mute.child.stdin.end();
  expect(await mute.exit()).toBe(0);
});

test('a client that stops reading ends the process at once, without an error', async () => {
  await open('1', TOOLS);
  server.child.stdout.destroy();
  // One write: the process may end at the first line, before another write.
  server.send(['a', 'b', 'c'].map((name) => callLine('2', 'add_tool', { name })).join('\n'));
  expect(await server.exit()).toBe(0);
});

test('a connection of an earlier revision has no subscriptions/listen', async () => {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'old', version: '1' },
  };
  server.send(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
  expect(JSON.parse((await server.next()) ?? '')).toMatchObject({
    id: 0,
    result: { protocolVersion: '2025-11-25' },
  });
  server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  server.send(
    '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}',
  );
  expect(JSON.parse((await server.next()) ?? '')).toMatchObject({ id: 1, error: { code: -32601 } });
});
