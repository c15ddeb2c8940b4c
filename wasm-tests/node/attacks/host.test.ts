import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { portOf } from '../../host/port.ts';

const errors: Error[] = [];
const paths: string[] = [];
const handler = toNodeHandler(
  {
    fetch: (request) => {
      paths.push(request.url);
      return new Response(new URL(request.url).pathname);
    },
  },
  { onError: (error) => void errors.push(error) },
);
const server = createServer((request, response) => void handler(request, response));

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void server.close());

/** The status and the body of the response. */
async function asked(
  target: string,
  host: string,
  at: Server = server,
  origin?: string,
): Promise<{ status: number; body: string }> {
  const socket = connect(portOf(at), '127.0.0.1');
  const page = origin === undefined ? '' : `Origin: ${origin}\r\n`;
  socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${page}Connection: close\r\n\r\n`);
  const received = await text(socket);
  return {
    status: Number(received.split(' ')[1]),
    body: received.slice(received.indexOf('\r\n\r\n') + 4),
  };
}

test.each([
  ['/public', 'good.example/admin?x='],
  ['/public', 'good.example\\admin'],
  ['/public', 'good.example#'],
  ['/public', 'good.example?'],
  ['/public', 'ann:secret@good.example'],
  ['/public', 'good example'],
  ['/public', 'good.example:80:90'],
  ['/public', 'good.example:port'],
  ['/public', '[::1'],
  ['/public', '[good.example]'],
  ['/public', ''],
  ['http://other.example/admin', 'good.example'],
  ['//other.example/admin', 'good.example'],
  ['/\\other.example/admin', 'good.example'],
  ['/public\\..\\admin', 'good.example'],
  ['/public#/admin', 'good.example'],
])('%s at the host "%s" gets 400 before the handler is called', async (target, host) => {
  expect((await asked(target, host)).status).toBe(400);
  expect([paths, errors]).toEqual([[], []]);
});

test.each([
  ['/public?x=//y', 'good.example', 'http://good.example/public?x=//y'],
  ['/public', 'good_host.example:8443', 'http://good_host.example:8443/public'],
  ['/a//b', '[::1]:80', 'http://[::1]/a//b'],
  ['/', '127.0.0.1', 'http://127.0.0.1/'],
])('%s at the host "%s" is served', async (target, host, url) => {
  expect((await asked(target, host)).status).toBe(200);
  expect(paths.splice(0)).toEqual([url]);
});

/** Starts a server with the option `allowedHosts` at a loopback address, until the test ends. */
async function listening(allowedHosts?: string[]): Promise<Server> {
  const handled = createListenHandler(() => new Response('served'), {
    bus: new InMemoryBus(),
    ...(allowedHosts && { allowedHosts }),
  });
  const node = toNodeHandler(handled);
  const started = createServer((request, response) => void node(request, response));
  onTestFinished(() => void started.close());
  await once(started.listen(0, '127.0.0.1'), 'listening');
  return started;
}

test('without allowedHosts every host is served, but no page of it over plain HTTP', async () => {
  const [all, listed] = [await listening(), await listening(['127.0.0.1'])];
  expect(await asked('/mcp', 'evil.example', all)).toMatchObject({ status: 200 });
  expect((await asked('/mcp', 'evil.example', all, 'http://evil.example')).status).toBe(403);
  expect((await asked('/mcp', 'evil.example', listed)).status).toBe(403);
  expect((await asked('/mcp', '127.0.0.1:80', listed)).status).toBe(200);
});
