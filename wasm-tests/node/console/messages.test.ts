import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expanded, variablesOf } from '../../../console/act/resource/uri-template.ts';
import { Conversation } from '../../../console/mcp/conversation.ts';
import { messageOf } from '../../../console/mcp/message.ts';
import { curlOf } from '../../../console/timeline/curl.ts';
import { MAX_LENGTH, MessageHistory } from '../../../console/timeline/history.ts';
import {
  acknowledged,
  listChanged,
  listenBody,
  taskNotification,
  taskState,
  updated,
} from '../../host/listen.ts';
import { serveOnNode } from '../../host/node-http.ts';

describe('a message', () => {
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
    ['{"id":1,"result":{}}', 'response', 'result', '', undefined, undefined],
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

  test('with a response is named after its request, once', () => {
    const conversation = new Conversation();
    const titleOf = (text: string) =>
      conversation.message({ at: 0, source: 'page', direction: 'in', text }).title;
    titleOf('{"id":"1","method":"tools/list"}');
    expect(titleOf('{"id":1,"result":{}}')).toBe('result');
    expect(titleOf('{"id":"1","result":{}}')).toBe('result of tools/list');
    expect(titleOf('{"id":"1","result":{}}')).toBe('result');
  });
});

test('the history keeps the latest 50,000 messages, and says which it dropped', () => {
  const history = new MessageHistory();
  const dropped: string[] = [];
  for (let count = 0; count < 51_500; count += 1)
    dropped.push(...history.add(seen(`{"id":${count},"method":"m"}`)).map(({ text }) => text));
  expect(history.seen).toBe(51_500);
  const kept = history.filtered(() => true);
  expect(kept.length).toBe(51_500 - dropped.length);
  expect(kept.length).toBeGreaterThanOrEqual(50_000);
  expect(kept[0]?.text).toBe(`{"id":${dropped.length},"method":"m"}`);
  expect(dropped[0]).toBe('{"id":0,"method":"m"}');
});

test('the history drops its oldest messages when all are longer than 64 million characters', () => {
  const history = new MessageHistory();
  const large = 'x'.repeat(MAX_LENGTH / 640);
  let dropped = 0;
  for (let count = 0; count < 3_000; count += 1) dropped += history.add(seen(large)).length;
  const kept = history.filtered(() => true);
  expect(kept.length).toBe(3_000 - dropped);
  expect(kept.length).toBeLessThanOrEqual(640);
  expect(kept.length).toBeGreaterThanOrEqual(570);
  history.add(seen('x'.repeat(MAX_LENGTH + 1)));
  expect(history.filtered(() => true).length).toBe(1);
});

test('a request becomes a curl command without its token, quoted for a shell', () => {
  const text = listenBody({ resourceSubscriptions: ["note://it's"] });
  const to = { url: 'https://mcp.example/mcp', hasToken: true };
  const message = messageOf({ at: 0, source: 'A', direction: 'out', text, to });
  expect(curlOf(message)?.split(' \\\n')).toEqual([
    "curl -gN 'https://mcp.example/mcp'",
    "  -H 'Content-Type: application/json'",
    "  -H 'Accept: application/json, text/event-stream'",
    "  -H 'MCP-Protocol-Version: 2026-07-28'",
    "  -H 'Mcp-Method: subscriptions/listen'",
    '  -H "Authorization: Bearer $TOKEN"',
    `  -d '${text.replace("'", "'\\''")}'`,
  ]);
  expect(curlOf(seen(text))).toBeUndefined();
});

test('no name of a server reaches the shell that runs a curl command', () => {
  const name = '"; reboot; $TOKEN';
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const params = { name, _meta: meta };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const to = { url: "http://a/'$(reboot)", hasToken: false };
  const command = curlOf(messageOf({ at: 0, source: 'A', direction: 'out', text, to })) ?? '';
  expect(command.split(/'(?:[^']|'\\'')*'/).join('')).toBe(
    'curl -gN  \\\n  -H  \\\n'.concat('  -H  \\\n'.repeat(4), '  -d '),
  );
});

test('a curl command that a shell runs sends the same message, with the token of the shell', async () => {
  const received: object[] = [];
  const server = await serveOnNode(async (request) => {
    const { headers, url } = request;
    const [method, name, token] = ['mcp-method', 'mcp-name', 'authorization'].map((field) =>
      headers.get(field),
    );
    received.push({ url, method, name, token, body: await request.text() });
    return new Response('received');
  });
  onTestFinished(() => server.stop());
  const name = `'; exit 3; "$TOKEN \`exit 4\` \\`;
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const params = { name, arguments: { text: "it's\nhere, in {a,b}[1-2]" }, _meta: meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  // Without -g, curl would send a request for each of the alternatives.
  const url = `${server.origin}/it's/mcp?tenant={a,b}`;
  const to = { url, hasToken: true };
  const command = curlOf(messageOf({ at: 0, source: 'A', direction: 'out', text: body, to })) ?? '';
  const env = { ...process.env, TOKEN: 'sesame', NO_PROXY: '*' };
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env });
  expect(stdout).toBe('received');
  expect(received).toEqual([{ url, method: 'tools/call', name, token: 'Bearer sesame', body }]);
});

test.each([
  ['note://{name}', ['name'], 'note://a%20b'],
  ['file:///{+name}{?q,name}', ['name', 'q'], 'file:///a%20b?name=a%20b'],
  ['x://{name:3}/{other}', ['name', 'other'], 'x://a%20b/{other}'],
])('the template %s has variables and becomes a URI', (template, variables, uri) => {
  expect(variablesOf(template)).toEqual(variables);
  expect(expanded(template, new Map([['name', 'a b']]))).toBe(uri);
});

function seen(text: string) {
  return messageOf({ at: 0, source: 'A', direction: 'in', text });
}
