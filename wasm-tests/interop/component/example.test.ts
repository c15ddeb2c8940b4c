import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
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
  if (server.exitCode !== null) return;
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
  expect(await stream.comment()).toBe(': keep-alive');
  await stream.close();
});

test('a Python server holds one notification for a client that reads nothing', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.pause();
  const body = listenBody(LAMP);
  const fields = Object.entries({ ...LISTEN_HEADERS, host: `${hostname}:${port}` });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(
    `POST /mcp HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(() => called('streams')).toBe('1');
  await called('switch', 100_000);
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
  });
  await expect.poll(() => text).toContain('resources/updated');
  // All of it is published in one turn of the loop, in which no body is written.
  expect(text.split('resources/updated')).toHaveLength(2);
  socket.destroy();
});

test('a Python server that stops ends its streams with their result', async () => {
  const stream = await listen(url, LAMP);
  expect(await stream.message()).toContain('acknowledged');
  server.kill('SIGTERM');
  expect(await stream.message()).toContain('"resultType":"complete"');
  expect(await stream.message()).toBeUndefined();
  await once(server, 'exit');
});

async function called(name: string, times?: number): Promise<string> {
  const client = await typescriptClient(url);
  const { content } = await client.callTool({ name, arguments: times ? { times } : {} });
  await client.close();
  return (content as { text: string }[])[0]?.text ?? '';
}
