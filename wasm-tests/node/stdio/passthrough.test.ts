import { PassThrough } from 'node:stream';
import { serveListenStdio } from 'mcp-listen/node';
import { describe, expect, test, vi } from 'vitest';
import { listChanged } from '../../host/listen.ts';
import { connected, failOnUnhandled, open } from './serving.ts';

failOnUnhandled();

describe('a message that is not a listen', () => {
  const bytes = Buffer.concat([
    Buffer.from('  {"jsonrpc":"2.0","id":1,"method":"tools/list"} \r\n\n[1,\t2]\n'),
    Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
    Buffer.from('"unfinished'),
  ]);

  test('reaches the server byte for byte, however it is split', async () => {
    const { received, stdin } = connected();
    for (const byte of bytes) stdin.write(Uint8Array.of(byte));
    stdin.end();
    expect(Buffer.concat(await received.toArray())).toEqual(bytes);
  });

  test('reaches the client byte for byte, line by line', async () => {
    const { replies, stdout } = connected();
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
    for (const byte of bytes) replies.write(Uint8Array.of(byte));
    const chunks: Buffer[] = [];
    stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks)).toHaveLength(whole.length);
    expect(Buffer.concat(chunks)).toEqual(whole);
  });

  test('is not split by a notification', async () => {
    const connection = connected();
    await open(connection, '1');
    connection.replies.write('{"whole":1}\n{"half":');
    expect(await connection.lines.next()).toBe('{"whole":1}');
    await connection.server.notify.toolsChanged();
    connection.replies.write('1}\n');
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
    expect(await connection.lines.next()).toBe('{"half":1}');
  });
});

test('an upstream server that cannot be started is reported', async () => {
  expect(() =>
    serveListenStdio(() => {
      throw new Error('no');
    }),
  ).toThrow('no');
  const onError = vi.fn();
  const stdin = new PassThrough();
  serveListenStdio(() => Promise.reject(new Error('later')), {
    onError,
    stdin,
    stdout: new PassThrough(),
  });
  await expect
    .poll(() => onError)
    .toHaveBeenCalledWith(expect.objectContaining({ message: 'later' }));
});
