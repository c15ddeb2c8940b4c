import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { LISTEN_HEADERS, listen, listenBody } from '../../host/listen.ts';
import { lastingPort } from '../../host/port.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };

let server: ChildProcess;
let url: string;

beforeAll(async () => {
  const port = await lastingPort();
  const script = join(root, 'examples', 'python-component', 'server.py');
  server = spawn(python, [script, String(port), '200'], { stdio: 'ignore' });
  url = `http://127.0.0.1:${port}/mcp`;
  await vi.waitFor(() => fetch(url), { timeout: 20_000, interval: 100 });
});

afterAll(async () => {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
});

test("a Python server notifies the SDK's client of a change, until it cancels", async () => {
  const client = await typescriptClient(url);
  const notifications = new Notifications(client);
  const subscription = await client.listen(LAMP);
  expect(subscription.honoredFilter).toEqual(LAMP);
  expect(await called('switch')).toBe('on');
  expect(await notifications.next()).toBe('resources/updated lamp://desk');
  const { contents } = await client.readResource({ uri: 'lamp://desk' });
  expect(contents).toMatchObject([{ text: 'on' }]);
  expect(await called('streams')).toBe('1');
  await subscription.close();
  await expect.poll(() => called('streams')).toBe('0');
  await client.close();
});

test('a Python server keeps a silent stream alive', async () => {
  const stream = await listen(url, LAMP);
  expect(await stream.message()).toContain('acknowledged');
  expect(await stream.block()).toBe(': keep-alive');
  stream.drop();
});

test('a Python server holds a bounded number of notifications for a client that reads nothing', async () => {
  const uris = Array.from({ length: 25 }, (_, index) => `lamp://${index}/`.padEnd(2_000, 'x'));
  const socket = await unreadListen({ resourceSubscriptions: uris });
  const publisher = await typescriptClient(url);
  // 10 MB, more than the buffers of two sockets.
  await publisher.callTool({ name: 'announce', arguments: { uris, times: 200 } });
  const text = await readUntilSilent(socket);
  const received = text.split('notifications/resources/updated').length - 1;
  expect(received).toBeGreaterThanOrEqual(uris.length);
  expect(received).toBeLessThan(200 * uris.length * 0.7);
  await publisher.close();
});

test('a Python server that stops ends its streams with their result', async () => {
  const stream = await listen(url, LAMP);
  expect(await stream.message()).toContain('acknowledged');
  server.kill('SIGTERM');
  expect(await stream.message()).toContain('"resultType":"complete"');
  expect(await stream.message()).toBeUndefined();
  await once(server, 'exit');
});

/** Opens a stream and does not read it. */
async function unreadListen(filter: object): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.pause();
  const body = listenBody(filter);
  const fields = { ...LISTEN_HEADERS, host: `${hostname}:${port}`, 'content-length': body.length };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  await expect.poll(() => called('streams')).toBe('1');
  return socket;
}

/** Reads until a keep-alive shows that nothing is pending. */
async function readUntilSilent(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
  });
  socket.resume();
  await expect.poll(() => text.slice(-30)).toContain(': keep-alive');
  socket.destroy();
  return text;
}

async function called(name: string): Promise<string> {
  const client = await typescriptClient(url);
  const { content } = await client.callTool({ name, arguments: {} });
  await client.close();
  return (content as { text: string }[])[0]?.text ?? '';
}
