import { describe, expect, test } from 'vitest';
import { Conversation } from '../../../console/mcp/conversation.ts';
import { frameOf } from '../../../console/mcp/frame.ts';
import { answerIn } from '../../../console/mcp/wire.ts';
import { Statistics } from '../../../console/numbers/statistics.ts';
import { History } from '../../../console/timeline/history.ts';
import {
  acknowledged,
  listChanged,
  listenBody,
  taskNotification,
  taskState,
  updated,
} from '../../host/listen.ts';

describe('a frame', () => {
  test.each([
    [listenBody({}, '"a"'), 'request', 'subscriptions/listen', '', undefined, '"a"'],
    [acknowledged('7', {}), 'ack', 'subscriptions/acknowledged', '', undefined, '7'],
    [listChanged('7', 'tools'), 'cue', 'tools/list_changed', '', 'tools', '7'],
    [updated('7', 'note://a'), 'cue', 'resources/updated', 'note://a', 'note://a', '7'],
    [taskNotification('7', taskState('t')), 'cue', 'tasks', 'task t', 'task t', '7'],
    [
      '{"id":1,"method":"tools/call","params":{"name":"edit"}}',
      'request',
      'tools/call',
      'edit',
      undefined,
      undefined,
    ],
    [
      '{"id":1,"error":{"code":-32600,"message":"no"}}',
      'error',
      'error -32600',
      'no',
      undefined,
      undefined,
    ],
    ['{"id":1,"result":{}}', 'answer', 'result', '', undefined, undefined],
    [
      '{"id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}',
      'end',
      'result of listen',
      '',
      undefined,
      '7',
    ],
    ['{"method":"notifications/message"}', 'notification', 'message', '', undefined, undefined],
    ['[1]', 'unreadable', 'not a JSON object', '', undefined, undefined],
    ['{', 'unreadable', 'not a JSON object', '', undefined, undefined],
  ])('%s is parsed', (text, kind, title, detail, topic, subscription) => {
    expect(seen(text)).toMatchObject({ kind, title, detail, topic, subscription });
  });

  test('with an answer is named after its request, once', () => {
    const conversation = new Conversation();
    const titleOf = (text: string) =>
      conversation.frame({ at: 0, source: 'page', direction: 'in', text }).title;
    titleOf('{"id":"1","method":"tools/list"}');
    expect(titleOf('{"id":1,"result":{}}')).toBe('result');
    expect(titleOf('{"id":"1","result":{}}')).toBe('result of tools/list');
    expect(titleOf('{"id":"1","result":{}}')).toBe('result');
  });
});

describe('an answer', () => {
  test.each([
    ['application/json', '{"id":"a","result":{"ok":1}}'],
    [
      'text/event-stream',
      ': hello\n\ndata: {"method":"x"}\n\nevent: message\ndata: {"id":"a",\ndata: "result":{"ok":1}}\n\n',
    ],
    ['text/event-stream', 'data: {"id":"a","result":{"ok":1}}\r\n\r\n'],
  ])('of the type %s yields its result', async (type, body) => {
    expect(await answered(body, { headers: { 'Content-Type': type } })).toEqual({ ok: 1 });
  });

  test.each([
    ['{"id":"b","result":{}}', 200, 'unreadable', true],
    ['{"id":"a","error":{"code":-32601,"message":"no"}}', 404, 'refused', true],
    ['', 401, 'unauthorized', false],
    ['<html>', 502, 'unreadable', false],
    ['', 405, 'unreadable', true],
  ])(
    '%j with the status %i is the error %s, with mayBeOlder: %s',
    async (body, status, code, mayBeOlder) => {
      await expect(answered(body, { status })).rejects.toMatchObject({
        code,
        status,
        mayBeOlder,
      });
    },
  );
});

test('statistics add up over isolates, and earlier counts are no rise', () => {
  const statistics = new Statistics();
  const answer = (isolate: string, collapsed: number, position: number) =>
    statistics.add({
      isolate,
      streams: { collapsed, resyncs: 0 },
      bus: { attached: 2, position },
    });
  expect(answer('a', 100, 10).increase).toEqual({
    streams: 0,
    events: 0,
    collapsed: 0,
    resyncs: 0,
  });
  expect(answer('b', 50, 14)).toMatchObject({
    totals: { collapsed: 150, events: 14 },
    increase: { events: 4, collapsed: 0 },
  });
  expect(answer('a', 103, 14)).toMatchObject({
    totals: { collapsed: 153 },
    increase: { events: 0, collapsed: 3 },
  });
  expect(() => statistics.add({ isolate: 'a', streams: {}, bus: {} })).toThrow('no number');
});

test('the history keeps the latest frames, and returns the newest first', () => {
  const history = new History();
  for (let count = 0; count < 12_000; count += 1) history.add(seen(`{"id":${count},"method":"m"}`));
  expect(history.seen).toBe(12_000);
  expect(history.kept).toBeLessThanOrEqual(5_500);
  expect(history.latest(2, ({ text }) => text.includes('99,')).map(({ text }) => text)).toEqual([
    '{"id":11999,"method":"m"}',
    '{"id":11899,"method":"m"}',
  ]);
});

function seen(text: string) {
  return frameOf({ at: 0, source: 'A', direction: 'in', text });
}

function answered(body: string, init: ResponseInit) {
  return answerIn(new Response(body, init), 'a', () => {});
}
