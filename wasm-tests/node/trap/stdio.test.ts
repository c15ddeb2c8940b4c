import { expect, test, vi } from 'vitest';
import { BusFollower, Channel } from '../../../dist/wasm/server/bindings.js';
import { listenBody } from '../../host/listen.ts';
import { poison } from '../../host/poison.ts';
import { requestLine } from '../../host/stdio.ts';
import { TOOLS } from '../serving.ts';
import { connected, failOnUnhandled, open } from '../stdio/serving.ts';

failOnUnhandled();

async function listening() {
  const connection = connected();
  await open(connection, '1');
  return connection;
}

async function expectEnd({
  lines,
  onError,
  received,
  replies,
}: Awaited<ReturnType<typeof listening>>): Promise<void> {
  received.resume();
  await expect.poll(() => received.readableEnded).toBe(true);
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'core-trapped' }));
  replies.write('{"last":1}\n');
  expect(await lines.next()).toBe('{"last":1}');
}

test('a connection ends when the core traps on a line, and output of the server still passes', async () => {
  const connection = await listening();
  poison();
  connection.send(requestLine('2', 'tools/list'));
  await expectEnd(connection);
});

test('a connection ends when the core traps on a publish, which rejects', async () => {
  const connection = await listening();
  poison();
  await expect(connection.server.notify.toolsChanged()).rejects.toMatchObject({
    code: 'core-trapped',
  });
  await expectEnd(connection);
});

test('a connection ends when the core traps before the capabilities are known', async () => {
  const connection = connected({}, {});
  connection.send(listenBody(TOOLS, '1'));
  await expect.poll(() => connection.received.readableLength).toBeGreaterThan(0);
  poison();
  connection.send(requestLine('2', 'tools/list'));
  await expectEnd(connection);
});

test('a connection ends when the core traps on a refusal', async () => {
  vi.spyOn(Channel.prototype, 'refuse').mockImplementationOnce(() => {
    poison();
    new BusFollower(1);
  });
  const connection = connected({ authorize: () => ({ denied: 403 }) });
  connection.send(listenBody(TOOLS, '1'));
  await expectEnd(connection);
});

test('the next connection of the process works', async () => {
  const former = await listening();
  poison();
  former.send(requestLine('2', 'tools/list'));
  await expectEnd(former);
  const next = await listening();
  await next.server.close();
});
