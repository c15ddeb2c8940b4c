import { PassThrough } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { listen } from 'mcp-listen/client';
import { serveListenStdio } from 'mcp-listen/node';
import { expect, test } from 'vitest';
import { initialize } from '../../host/legacy.ts';
import { acknowledged, listChanged, listenBody } from '../../host/listen.ts';
import { sdkSessions, subscribable } from '../../host/sessions/sdk.ts';
import { LineReader, requestLine } from '../../host/stdio.ts';
import { TOOLS } from '../serving.ts';
import { changingServer, recording } from './changing-server.ts';

const CALL = { name: 'change', arguments: {} };

test('a client of 2026-07-28 on stdio receives a change once', async () => {
  const { lines, send } = onStdio();
  send(listenBody(TOOLS, '1'));
  expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  send(requestLine('2', 'tools/call', CALL));
  const received = [await lines.next(), await lines.next()];
  expect(received).toContain(listChanged('1', 'tools'));
  expect(received).toContainEqual(expect.stringContaining('"id":2'));
  send(requestLine('3', 'tools/list'));
  expect(await lines.next()).toContain('"id":3');
});

test('a client of 2025 on stdio receives a change once', async () => {
  const { lines, send } = onStdio();
  send(JSON.stringify(initialize('2025-11-25')));
  expect(await lines.next()).toContain('"protocolVersion":"2025-11-25"');
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  const call = (id: number, method: string, params: object) =>
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  call(2, 'tools/call', CALL);
  const received = [await lines.next(), await lines.next()];
  expect(received.filter((line) => line?.includes('tools/list_changed'))).toHaveLength(1);
  call(3, 'tools/list', {});
  expect(await lines.next()).toContain('"id":3');
});

test('a session of the SDK receives a change once, and so does the bus', async () => {
  const { bus, batches } = recording();
  const sessions = await sdkSessions(publishChanges(subscribable, bus));
  const subscription = await listen(
    sessions.url,
    { resourceSubscriptions: ['note://a', 'note://b'] },
    { revision: '2025' },
  );
  const received: string[] = [];
  await sessions.update('note://a');
  await sessions.update('note://b');
  for await (const event of subscription) {
    received.push(event.kind === 'resource_updated' ? event.uri : event.kind);
    if (event.kind === 'resource_updated' && event.uri === 'note://b') break;
  }
  expect(received).toEqual(['note://a', 'note://b']);
  expect(batches).toEqual([
    [{ kind: 'resource_updated', uri: 'note://a' }],
    [{ kind: 'resource_updated', uri: 'note://b' }],
  ]);
  await sessions.stop();
});

/** The client side of a server of the SDK on stdio; its tool `change` changes its list of tools. */
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
