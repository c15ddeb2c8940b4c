import { ListenError } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { acknowledged, listenBody } from '../../host/listen.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { LineReader, requestLine } from '../../host/stdio.ts';
import { fed } from '../bus/fed-bus.ts';
import { TOOLS } from '../serving.ts';
import { connected, failOnUnhandled } from './serving.ts';

failOnUnhandled();

describe('capabilities', () => {
  test('are requested from the upstream server, whose response does not reach the client', async () => {
    const { lines, received, replies, send } = connected({}, {});
    const questions = new LineReader(received);
    send(listenBody({ ...TOOLS, promptsListChanged: true }, '1'));
    send(listenBody(TOOLS, '2'));
    const question = (await questions.next()) ?? '';
    expect(JSON.parse(question)).toMatchObject({ method: 'server/discover' });
    replies.write(
      `{"before":1}\n${responseTo(question, { tools: { listChanged: true } })}{"after":1}\n`,
    );
    const messages = [
      await lines.next(),
      await lines.next(),
      await lines.next(),
      await lines.next(),
    ];
    expect(messages.slice(0, 2)).toEqual(['{"before":1}', '{"after":1}']);
    expect(messages.slice(2)).toEqual([acknowledged('1', TOOLS), acknowledged('2', TOOLS)]);
    send(requestLine('3', 'tools/list'));
    expect(await questions.next()).toBe(requestLine('3', 'tools/list'));
  });

  test.each([
    ['are requested again after ttlMs', 0, 2],
    ['are not requested again within ttlMs', 60_000, 1],
  ])('%s', async (_, ttlMs, times) => {
    const { lines, received, replies, send } = connected({}, {});
    const asked = vi.fn();
    received.setEncoding('utf8').on('data', (question: string) => {
      asked();
      replies.write(
        responseTo(question, CAPABILITIES).replace('"result":{', `"result":{"ttlMs":${ttlMs},`),
      );
    });
    for (const id of ['1', '2']) {
      send(listenBody(TOOLS, id));
      expect(await lines.next()).toBe(acknowledged(id, TOOLS));
    }
    expect(asked).toHaveBeenCalledTimes(times);
  });

  test('are requested again after a response without them', async () => {
    const { lines, onError, received, replies, send } = connected({}, {});
    const questions = new LineReader(received);
    send(listenBody(TOOLS, '1'));
    replies.write(responseTo((await questions.next()) ?? '', {}).replace('capabilities', 'other'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'discover-failed' }));
    send(listenBody(TOOLS, '1'));
    replies.write(responseTo((await questions.next()) ?? '', CAPABILITIES));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  });

  test('that do not arrive in time refuse the listen', async () => {
    const { lines, onError, send } = connected({ timeouts: { attachMs: 10 } }, {});
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenCalledWith(expect.any(ListenError));
  });
});

describe('capabilities that do not arrive in time', () => {
  test('are requested again, and do not reach the client later', async () => {
    const { lines, received, replies, send } = connected({ timeouts: { attachMs: 200 } }, {});
    const questions = new LineReader(received);
    send(listenBody(TOOLS, '1'));
    const late = (await questions.next()) ?? '';
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    send(listenBody(TOOLS, '1'));
    const question = (await questions.next()) ?? '';
    expect(question).not.toBe(late);
    replies.write(responseTo(question, CAPABILITIES));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
    replies.write(`${responseTo(late, CAPABILITIES)}{"after":1}\n`);
    expect(await lines.next()).toBe('{"after":1}');
  });

  test('are used if they arrive before those that are requested again', async () => {
    const { lines, received, replies, send } = connected({ timeouts: { attachMs: 200 } }, {});
    const questions = new LineReader(received);
    send(listenBody(TOOLS, '1'));
    const late = (await questions.next()) ?? '';
    await lines.next();
    send(listenBody(TOOLS, '1'));
    const question = (await questions.next()) ?? '';
    replies.write(responseTo(late, CAPABILITIES));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
    replies.write(`${responseTo(question, {})}{"after":1}\n`);
    expect(await lines.next()).toBe('{"after":1}');
  });
});

test('capabilities may be requested again while an earlier listen waits for its bus', async () => {
  const { bus } = fed();
  let open = () => {};
  const ready = vi.fn(
    () =>
      new Promise<void>((resolve) => {
        const before = open;
        open = () => {
          before();
          resolve();
        };
      }),
  );
  const { lines, received, replies, send } = connected({ bus: Object.assign(bus, { ready }) }, {});
  const questions = new LineReader(received);
  for (const id of ['1', '2']) {
    send(listenBody(TOOLS, id));
    replies.write(responseTo((await questions.next()) ?? '', CAPABILITIES));
    await expect.poll(() => ready).toHaveBeenCalledTimes(Number(id));
  }
  open();
  const opened = [await lines.next(), await lines.next()];
  expect(opened.sort()).toEqual([acknowledged('1', TOOLS), acknowledged('2', TOOLS)]);
});

function responseTo(question: string, capabilities: object): string {
  const { id } = JSON.parse(question) as { id: unknown };
  return `${JSON.stringify({ jsonrpc: '2.0', id, result: { capabilities } })}\n`;
}
