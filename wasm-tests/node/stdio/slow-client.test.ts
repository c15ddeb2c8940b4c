import { Writable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, listenBody } from '../../host/listen.ts';
import { RESULT, TOOLS } from '../serving.ts';
import { connected, failOnUnhandled, open } from './serving.ts';

failOnUnhandled();

describe('a client that reads slowly', () => {
  test('receives collapsed cues, and the upstream server in between', async () => {
    const connection = connected();
    await open(connection, '1');
    const { replies, server, stdout } = connection;
    stdout.cork();
    const filler = `"${'x'.repeat(100_000)}"`;
    replies.write(`${filler}\n`);
    await expect.poll(() => stdout.writableNeedDrain).toBe(true);
    const written = stdout.writableLength;
    for (let count = 0; count < 10_000; count += 1) await server.notify.toolsChanged();
    replies.write('"last"\n');
    expect(stdout.writableLength).toBe(written);
    stdout.uncork();
    const messages = [
      await connection.lines.next(),
      await connection.lines.next(),
      await connection.lines.next(),
    ];
    expect(messages[0]).toBe(filler);
    expect(messages.slice(1).sort()).toEqual(['"last"', listChanged('1', 'tools')]);
  });

  test('receives the upstream server too, however much changes', async () => {
    const written: string[] = [];
    const stdout = new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, done) => {
        written.push(String(chunk));
        void server.notify.toolsChanged();
        setImmediate(done);
      },
    });
    const { replies, send, server } = connected({ stdout });
    send(listenBody(TOOLS, '1'));
    await expect.poll(() => written.length).toBeGreaterThan(2);
    replies.write('"from the server"\n');
    await expect.poll(() => written).toContain('"from the server"\n');
    await server.close();
  });

  test('is not read while responses to it cannot be written', async () => {
    const stdout = new Writable({ highWaterMark: 1, write() {} });
    const { stdin } = connected({ stdout });
    for (let id = 0; id < 10_000; id += 1) stdin.write(`${listenBody(null, String(id))}\n`);
    await expect.poll(() => stdin.isPaused()).toBe(true);
    expect(stdin.readableLength).toBeGreaterThan(0);
  });
});

describe('a client that is gone', () => {
  test.each(['EPIPE', 'ECONNRESET'])('with %s ends the connection quietly', async (code) => {
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })),
    });
    const { bus, onError, received, replies, send, server } = connected({ stdout });
    send(listenBody(TOOLS, '1'));
    expect(await received.toArray()).toEqual([]);
    expect(bus.attached).toBe(0);
    const write = vi.spyOn(stdout, 'write');
    await new Promise((resolve) => replies.write('not read\n'.repeat(10_000), resolve));
    await server.notify.toolsChanged();
    expect(write).not.toHaveBeenCalled();
    await server.close();
    expect(onError).not.toHaveBeenCalled();
  });

  test('delays no close, and finds its pending cues and results when it reads', async () => {
    const waiting: Array<() => void> = [];
    const lines: string[] = [];
    const stdout = new Writable({
      highWaterMark: 1,
      write(chunk, _encoding, done) {
        lines.push(...String(chunk).split('\n').filter(Boolean));
        waiting.push(done);
      },
    });
    const { bus, send, server } = connected({ stdout });
    send(listenBody(TOOLS, '1'));
    await expect.poll(() => lines).toEqual([acknowledged('1', TOOLS)]);
    for (let count = 0; count < 100; count += 1) await server.notify.toolsChanged();
    await server.close();
    expect(bus.attached).toBe(0);
    expect(await server.flushed(0)).toBe(false);
    const flushed = server.flushed(20_000);
    void (async () => {
      for (;;) {
        await expect.poll(() => waiting.length).toBeGreaterThan(0);
        waiting.shift()?.();
      }
    })().catch(() => {});
    expect(await flushed).toBe(true);
    expect(lines).toEqual([acknowledged('1', TOOLS), listChanged('1', 'tools'), RESULT]);
  });
});
