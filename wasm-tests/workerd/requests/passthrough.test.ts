import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

const fixture = useFixture();

test.each([
  ['a tool call', '{ "jsonrpc" : "2.0", "id":1,\n"method":"tools/call" }'],
  ['nonsense', 'not json'],
  ['an empty body', ''],
  ['a body larger than a listen may be', `"${'é'.repeat(400_000)}"`],
])('%s reaches the handler unchanged', async (_name, body) => {
  const headers = {
    'content-type': 'application/json',
    'x-custom': 'a, b',
    authorization: 'Bearer t',
  };
  const response = await fetch(fixture().mcp(0), { method: 'POST', headers, body });
  expect(await response.json()).toMatchObject({ method: 'POST', headers, body });
});

test.each([
  ['with a content-length', (text: string) => ({ body: text })],
  [
    'without a content-length',
    (text: string) => ({ body: new Blob([text]).stream(), duplex: 'half' }),
  ],
])(
  'a large body %s reaches the handler whole in a session with a named caller',
  async (_name, init) => {
    const session = await fixture().session(0, { 'x-user': 'ann' });
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { x: 'x'.repeat(200_000) },
    });
    const headers = {
      'content-type': 'application/json',
      'mcp-session-id': session.id,
      'x-user': 'ann',
    };
    const response = await fetch(fixture().mcp(0), {
      method: 'POST',
      headers,
      ...init(text),
    } as RequestInit);
    expect(((await response.json()) as { body: string }).body === text).toBe(true);
  },
);

test('the library responds to a listen that it cannot serve', async () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(fixture().mcp(0), { method: 'POST', headers: { ...LISTEN_HEADERS, ...headers }, body });
  const broken = await post('{');
  expect(broken.status).toBe(400);
  expect(broken.headers.get('content-type')).toBe('application/json');
  expect(await broken.json()).toEqual({
    jsonrpc: '2.0',
    error: { code: -32700, message: expect.any(String) },
  });
  expect((await post(listenBody({ toolsListChanged: 1 }))).status).toBe(400);
  expect((await post(listenBody({}) + ' '.repeat(70_000))).status).toBe(413);
  expect((await post(listenBody({}), { accept: 'application/json' })).status).toBe(406);
  expect((await post(listenBody({}), { 'content-type': 'text/plain' })).status).toBe(415);
  expect(await fixture().bus('stats')).toMatchObject({ sockets: 0 });
});

test('a listen with a body that is too large gets a response before its body ends', async () => {
  const asked = request(fixture().mcp(0), {
    method: 'POST',
    headers: LISTEN_HEADERS,
    agent: false,
  });
  const responded = once(asked, 'response');
  asked.write(' '.repeat(70_000));
  const [response] = (await responded) as [IncomingMessage];
  expect(response.statusCode).toBe(413);
  asked.destroy();
});
