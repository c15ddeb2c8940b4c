import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { LISTEN_HEADERS, listen, listenBody } from '../../host/listen.ts';
import { lastingPort } from '../../host/port.ts';
import { retried } from '../../host/retried.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };
const URIS = Array.from({ length: 25 }, (_, index) => `lamp://${index}/`.padEnd(2_000, 'x'));

let server: ChildProcess;
let url: string;

beforeAll(async () => {
  [server, url] = await started(200);
});

afterAll(() => killed(server));

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
  const socket = await unreadListen(url, { resourceSubscriptions: URIS });
  await announce(url);
  const text = await readUntilSilent(socket);
  const received = text.split('notifications/resources/updated').length - 1;
  expect(received).toBeGreaterThanOrEqual(URIS.length);
  expect(received).toBeLessThan(200 * URIS.length * 0.7);
});

test('a Python server removes the stream of a client that has read nothing for too long', async () => {
  const [impatient, at] = await started(15_000, 500);
  onTestFinished(() => killed(impatient));
  const socket = await unreadListen(at, { resourceSubscriptions: URIS });
  await announce(at);
  await expect.poll(() => called('streams', at)).toBe('0');
  socket.destroy();
});

test.each([
  ['has nothing pending but a keep-alive', 'ends_after_a_keep_alive'],
  ['is disconnected', 'ends_with_a_disconnect'],
])('a Python server ends the stream of a client that reads nothing and %s', async (_, name) => {
  await promisify(execFile)(python, [join(import.meta.dirname, 'example', 'unread.py'), name]);
});

test('a Python server that stops ends its streams with their result', async () => {
  const stream = await listen(url, LAMP);
  expect(await stream.message()).toContain('acknowledged');
  server.kill('SIGTERM');
  expect(await stream.message()).toContain('"resultType":"complete"');
  expect(await stream.message()).toBeUndefined();
  await once(server, 'exit');
});

/** Starts the server with these times. */
async function started(...times: number[]): Promise<[server: ChildProcess, url: string]> {
  const port = await lastingPort();
  const script = join(root, 'examples', 'python-component', 'server.py');
  const args = [script, ...[port, ...times].map(String)];
  const server = spawn(python, args, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}/mcp`;
  // The server compiles the component before it listens.
  await retried(() => fetch(url), 50_000);
  return [server, url];
}

async function killed(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}

/** Publishes 10 MB, more than the buffers of two sockets. */
async function announce(at: string): Promise<void> {
  const publisher = await typescriptClient(at);
  await publisher.callTool({ name: 'announce', arguments: { uris: URIS, times: 200 } });
  await publisher.close();
}

/** Opens a stream and does not read it. */
async function unreadListen(at: string, filter: object): Promise<Socket> {
  const { hostname, port } = new URL(at);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.pause();
  const body = listenBody(filter);
  const fields = { ...LISTEN_HEADERS, host: `${hostname}:${port}`, 'content-length': body.length };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  await expect.poll(() => called('streams', at)).toBe('1');
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

async function called(name: string, at = url): Promise<string> {
  const client = await typescriptClient(at);
  const { content } = await client.callTool({ name, arguments: {} });
  await client.close();
  return (content as { text: string }[])[0]?.text ?? '';
}
