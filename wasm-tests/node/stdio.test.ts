import { PassThrough, Writable } from 'node:stream';
import { ListenError } from 'mcp-listen';
import { serveListenStdio } from 'mcp-listen/node';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, listenBody } from '../host/listen.ts';
import { cancelLine, LineReader, requestLine, resultLine } from '../host/stdio.ts';
import { fed } from './fed-bus.ts';
import { CAPABILITIES, RESULT, TOOLS } from './serving.ts';
import { connected } from './stdio-serving.ts';

const unhandled = vi.fn();
process.on('unhandledRejection', unhandled);
afterEach(() => expect(unhandled).not.toHaveBeenCalled());

type Connected = ReturnType<typeof connected>;

async function open({ send, lines }: Connected, id: string, filter: object = TOOLS): Promise<void> {
  send(listenBody(filter, id));
  expect(await lines.next()).toBe(acknowledged(id, filter));
}

describe('what is not a listen passes through', () => {
  const bytes = Buffer.concat([
    Buffer.from('  {"jsonrpc":"2.0","id":1,"method":"tools/list"} \r\n\n[1,\t2]\n'),
    Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
    Buffer.from('"unfinished'),
  ]);

  test('to the server, byte for byte, in whatever pieces it comes', async () => {
    const { received, stdin } = connected();
    for (const byte of bytes) stdin.write(Uint8Array.of(byte));
    stdin.end();
    expect(Buffer.concat(await received.toArray())).toEqual(bytes);
  });

  test('to the client, byte for byte, line by line', async () => {
    const { saying, stdout } = connected();
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
    for (const byte of bytes) saying.write(Uint8Array.of(byte));
    const chunks: Buffer[] = [];
    stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks)).toHaveLength(whole.length);
    expect(Buffer.concat(chunks)).toEqual(whole);
  });

  test('and no line of ours comes between the halves of another', async () => {
    const connection = connected();
    await open(connection, '1');
    connection.saying.write('{"whole":1}\n{"half":');
    expect(await connection.lines.next()).toBe('{"whole":1}');
    await connection.server.notify.toolsChanged();
    connection.saying.write('1}\n');
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
    expect(await connection.lines.next()).toBe('{"half":1}');
  });
});

describe('a subscription', () => {
  test('is refused in band where it cannot be served', async () => {
    const { lines, send } = connected({ limits: { maxSubscriptions: 1, lineBytes: 1_000 } });
    send(listenBody(null, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32602');
    send('x'.repeat(1_001));
    expect(await lines.next()).toMatch(/^\{"jsonrpc":"2.0","error":\{"code":-32600/);
    send(listenBody(TOOLS, '2'));
    expect(await lines.next()).toBe(acknowledged('2', TOOLS));
    send(listenBody(TOOLS, '2'));
    expect(await lines.next()).toContain('"id":2,"error":{"code":-32600');
    send(listenBody(TOOLS, '3'));
    expect(await lines.next()).toContain('"id":3,"error":{"code":-32603');
  });

  test('leaves its bus when it is cancelled', async () => {
    const connection = connected();
    await open(connection, '1');
    await open(connection, '"1"');
    expect(connection.bus.attached).toBe(2);
    connection.send(cancelLine('1'));
    await expect.poll(() => connection.bus.attached).toBe(1);
    await connection.server.notify.toolsChanged();
    expect(await connection.lines.next()).toBe(listChanged('"1"', 'tools'));
  });

  test('ends gracefully on close, after what was pending, and new ones are refused', async () => {
    const connection = connected();
    await open(connection, '1');
    await connection.server.notify.toolsChanged();
    const closed = connection.server.close();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
    expect(await connection.lines.next()).toBe(
      resultLine('1', { name: 'tests', version: '1.0.0' }),
    );
    await closed;
    expect(connection.bus.attached).toBe(0);
    await connection.server.close();
  });

  test('leaves its bus without a word at the end of the input', async () => {
    const connection = connected();
    await open(connection, '1');
    connection.stdin.end();
    await expect.poll(() => connection.bus.attached).toBe(0);
    await connection.server.notify.toolsChanged();
    await connection.server.close();
    connection.stdout.end();
    expect(await connection.lines.next()).toBeUndefined();
    expect(connection.onError).not.toHaveBeenCalled();
  });
});

describe('the bus of a subscription', () => {
  test('closes: the subscription is cancelled, for a result would say that nothing was lost', async () => {
    const { bus, feeds } = fed();
    const connection = connected({ bus });
    await open(connection, '1');
    feeds[0]?.release();
    expect(await connection.lines.next()).toBe(cancelLine('1'));
    expect(bus.attached).toBe(0);
    expect(connection.onError).not.toHaveBeenCalled();
  });

  test('may have lost events: everything is cued', async () => {
    const { bus, feeds } = fed();
    const connection = connected({ bus });
    await open(connection, '1');
    feeds[0]?.gap();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });

  test('is not ready in time, or throws: the request is refused', async () => {
    const { bus } = fed();
    const ready = vi.fn(() => new Promise<void>(() => {}));
    const { lines, onError, send } = connected({
      bus: Object.assign(bus, { ready }),
      timeouts: { attachMs: 10 },
    });
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenLastCalledWith(expect.objectContaining({ code: 'attach-timeout' }));
    ready.mockResolvedValue();
    vi.spyOn(bus, 'subscribeAll').mockImplementationOnce(() => {
      throw new Error('no bus');
    });
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(bus.attached).toBe(0);
  });

  test('feeds what is open while a further request waits for it', async () => {
    const { bus } = fed();
    const ready = vi.fn(() => Promise.resolve());
    const connection = connected({
      bus: Object.assign(bus, { ready }),
      timeouts: { attachMs: 10 },
    });
    await open(connection, '1');
    ready.mockReturnValueOnce(new Promise(() => {}));
    connection.send(listenBody(TOOLS, '2'));
    expect(await connection.lines.next()).toContain('"id":2,"error":{"code":-32603');
    await connection.server.notify.toolsChanged();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });

  test('may be one that was written for the official SDK', async () => {
    const listeners = new Set<(event: { kind: 'tools_list_changed' }) => void>();
    const bus = {
      publish: () => undefined,
      subscribe: (listener: (event: { kind: 'tools_list_changed' }) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const connection = connected({ bus: bus as never });
    await open(connection, '1');
    for (const listener of listeners) listener({ kind: 'tools_list_changed' });
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });
});

describe('authorize', () => {
  const both = { toolsListChanged: true, promptsListChanged: true };

  test('narrows the filter', async () => {
    const { lines, send } = connected({
      authorize: ({ requested }) => ({ ...requested, promptsListChanged: false }),
    });
    send(listenBody(both, '1'));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  });

  test.each([401, 403] as const)('refuses with %s', async (denied) => {
    const { lines, send } = connected({ authorize: () => ({ denied }) });
    send(listenBody(both, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32600');
  });

  test('that throws is a refusal which tells nothing, whatever onError does', async () => {
    const authorize = () => Promise.reject(new Error('secret'));
    const onError = () => {
      throw new Error('onError throws too');
    };
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { lines, send } = connected({ authorize, onError });
    send(listenBody(both, '1'));
    const line = await lines.next();
    expect(line).toContain('"id":1,"error":{"code":-32603');
    expect(line).not.toContain('secret');
  });

  test('that answers after a cancel opens nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { bus, lines, send } = connected({ authorize: () => promise });
    send(listenBody(both, '1'));
    send(cancelLine('1'));
    send(listenBody(null, '2'));
    expect(await lines.next()).toContain('"id":2,"error"');
    resolve(both);
    await promise;
    expect(bus.attached).toBe(0);
  });
});

describe('capabilities', () => {
  const answer = (question: string, capabilities: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(question).id, result: { capabilities } })}\n`;

  test('are asked of the server behind, and its answer does not reach the client', async () => {
    const { lines, received, saying, send } = connected({}, {});
    const questions = new LineReader(received);
    send(listenBody({ ...TOOLS, promptsListChanged: true }, '1'));
    send(listenBody(TOOLS, '2'));
    const question = (await questions.next()) ?? '';
    expect(JSON.parse(question)).toMatchObject({ method: 'server/discover' });
    saying.write(
      `{"before":1}\n${answer(question, { tools: { listChanged: true } })}{"after":1}\n`,
    );
    const said = [await lines.next(), await lines.next(), await lines.next(), await lines.next()];
    expect(said.slice(0, 2)).toEqual(['{"before":1}', '{"after":1}']);
    expect(said.slice(2)).toEqual([acknowledged('1', TOOLS), acknowledged('2', TOOLS)]);
    send(requestLine('3', 'tools/list'));
    expect(await questions.next()).toBe(requestLine('3', 'tools/list'));
  });

  test.each([
    ['are asked again when their time is over', 0, 2],
    ['are not asked again before their time is over', 60_000, 1],
  ])('%s', async (_, ttlMs, times) => {
    const { lines, received, saying, send } = connected({}, {});
    const asked = vi.fn();
    received.setEncoding('utf8').on('data', (question: string) => {
      asked();
      saying.write(
        answer(question, CAPABILITIES).replace('"result":{', `"result":{"ttlMs":${ttlMs},`),
      );
    });
    for (const id of ['1', '2']) {
      send(listenBody(TOOLS, id));
      expect(await lines.next()).toBe(acknowledged(id, TOOLS));
    }
    expect(asked).toHaveBeenCalledTimes(times);
  });

  test('are asked again after an answer that tells none', async () => {
    const { lines, onError, received, saying, send } = connected({}, {});
    const questions = new LineReader(received);
    send(listenBody(TOOLS, '1'));
    saying.write(answer((await questions.next()) ?? '', {}).replace('capabilities', 'other'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'discover-failed' }));
    send(listenBody(TOOLS, '1'));
    saying.write(answer((await questions.next()) ?? '', CAPABILITIES));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  });

  test('that do not come in time are a refusal', async () => {
    const { lines, onError, send } = connected({ timeouts: { attachMs: 10 } }, {});
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenCalledWith(expect.any(ListenError));
  });
});

describe('a client that reads slowly', () => {
  test('gets what waited collapsed, and the server behind in between', async () => {
    const connection = connected();
    await open(connection, '1');
    const { saying, server, stdout } = connection;
    stdout.cork();
    const filler = `"${'x'.repeat(100_000)}"`;
    saying.write(`${filler}\n`);
    await expect.poll(() => stdout.writableNeedDrain).toBe(true);
    const written = stdout.writableLength;
    for (let count = 0; count < 10_000; count += 1) await server.notify.toolsChanged();
    saying.write('"last"\n');
    expect(stdout.writableLength).toBe(written);
    stdout.uncork();
    const said = [
      await connection.lines.next(),
      await connection.lines.next(),
      await connection.lines.next(),
    ];
    expect(said[0]).toBe(filler);
    expect(said.slice(1).sort()).toEqual(['"last"', listChanged('1', 'tools')]);
  });

  test('hears the server behind too, however much changes', async () => {
    const written: string[] = [];
    const stdout = new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, done) => {
        written.push(String(chunk));
        void server.notify.toolsChanged();
        setImmediate(done);
      },
    });
    const { saying, send, server } = connected({ stdout });
    send(listenBody(TOOLS, '1'));
    await expect.poll(() => written.length).toBeGreaterThan(2);
    saying.write('"from the server"\n');
    await expect.poll(() => written).toContain('"from the server"\n');
    await server.close();
  });

  test('is not asked for more while answers to it cannot be written', async () => {
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
    const { bus, onError, received, saying, send, server } = connected({ stdout });
    send(listenBody(TOOLS, '1'));
    expect(await received.toArray()).toEqual([]);
    expect(bus.attached).toBe(0);
    const write = vi.spyOn(stdout, 'write');
    await new Promise((resolve) => saying.write('nobody reads this\n'.repeat(10_000), resolve));
    await server.notify.toolsChanged();
    expect(write).not.toHaveBeenCalled();
    await server.close();
    expect(onError).not.toHaveBeenCalled();
  });

  test('delays no close, and finds the pending cues and the results when it reads', async () => {
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
    const flushed = server.flushed(5_000);
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

test('a server behind that cannot be started is told', async () => {
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
