import { PassThrough } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { listen } from 'mcp-listen/client';
import { serveListenStdio } from 'mcp-listen/node';
import { expect, test } from 'vitest';
import { initialize } from '../host/legacy.ts';
import { acknowledged, listChanged, listenBody } from '../host/listen.ts';
import { sdkSessions, subscribable } from '../host/sessions/sdk.ts';
import { LineReader, requestLine } from '../host/stdio.ts';
import { changingServer, recording } from './changing-server.ts';
import { TOOLS } from './serving.ts';

const CALL = { name: 'change', arguments: {} };

test('a client of 2026-07-28 on stdio hears a change of a handle once', async () => {
  const { lines, send } = onStdio();
  send(listenBody(TOOLS, '1'));
  expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  send(requestLine('2', 'tools/call', CALL));
  const heard = [await lines.next(), await lines.next()];
  expect(heard).toContain(listChanged('1', 'tools'));
  expect(heard).toContainEqual(expect.stringContaining('"id":2'));
  send(requestLine('3', 'tools/list'));
  expect(await lines.next()).toContain('"id":3');
});

test('a client of 2025 on stdio hears a change of a handle once', async () => {
  const { lines, send } = onStdio();
  send(JSON.stringify(initialize('2025-11-25')));
  expect(await lines.next()).toContain('"protocolVersion":"2025-11-25"');
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  const call = (id: number, method: string, params: object) =>
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  call(2, 'tools/call', CALL);
  const heard = [await lines.next(), await lines.next()];
  expect(heard.filter((line) => line?.includes('tools/list_changed'))).toHaveLength(1);
  call(3, 'tools/list', {});
  expect(await lines.next()).toContain('"id":3');
});

test('a client with a session of the SDK hears a change there once, and the bus takes it once', async () => {
  const { bus, told } = recording();
  const sessions = await sdkSessions(publishChanges(subscribable, bus));
  const subscription = await listen(
    sessions.url,
    { resourceSubscriptions: ['note://a', 'note://b'] },
    { era: '2025' },
  );
  const heard: string[] = [];
  await sessions.update('note://a');
  await sessions.update('note://b');
  for await (const event of subscription) {
    heard.push(event.kind === 'resource_updated' ? event.uri : event.kind);
    if (event.kind === 'resource_updated' && event.uri === 'note://b') break;
  }
  expect(heard).toEqual(['note://a', 'note://b']);
  expect(told).toEqual([
    [{ kind: 'resource_updated', uri: 'note://a' }],
    [{ kind: 'resource_updated', uri: 'note://b' }],
  ]);
  await sessions.stop();
});

/** A client's end of a server of the SDK on stdio whose tool `change` changes the list of tools. */
function onStdio() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const bus = new InMemoryBus();
  const factory = publishChanges(
    changingServer(({ tool }) => tool.disable()),
    bus,
  );
  serveListenStdio(
    (input, output) =>
      void serveStdio(factory, { transport: new StdioServerTransport(input, output) }),
    { bus, stdin, stdout },
  );
  return { send: (line: string) => stdin.write(`${line}\n`), lines: new LineReader(stdout) };
}
