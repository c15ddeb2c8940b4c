import { createListenHandler, ListenError, screen } from 'mcp-listen';
import { describe, expect, test, vi } from 'vitest';
import { CAPABILITIES, declaring } from '../../host/options.ts';

const URL = 'https://mcp.example/notes';

function get(headers: Record<string, string>, method = 'GET', url = URL): Request {
  return new Request(url, { method, headers });
}

describe('a GET without Origin', () => {
  test.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
    [undefined, 200],
  ])('with Sec-Fetch-Site: %s gets %d', async (site, status) => {
    const handler = vi.fn(() => new Response());
    const server = createListenHandler(handler, { server: declaring(CAPABILITIES) });
    const response = await server.fetch(get(site === undefined ? {} : { 'sec-fetch-site': site }));
    expect([response.status, handler.mock.calls.length]).toEqual([status, status === 200 ? 1 : 0]);
    expect(server.stats().refused.origin).toBe(status === 200 ? 0 : 1);
  });

  test('passes with allowedOrigins: *', async () => {
    const server = createListenHandler(() => new Response(), {
      server: declaring(CAPABILITIES),
      allowedOrigins: ['*'],
    });
    expect((await server.fetch(get({ 'sec-fetch-site': 'cross-site' }))).status).toBe(200);
  });
});

describe('screen in front of another path', () => {
  const screened = screen({
    allowedHosts: ['mcp.example'],
    allowedOrigins: ['https://app.example'],
  });
  const asked = async (request: Request) => {
    const inner = vi.fn(() => new Response('numbers'));
    const { headers, status } = await screened(request, inner);
    expect(inner).toHaveBeenCalledTimes(status === 200 ? 1 : 0);
    return [status, headers.get('access-control-allow-origin')];
  };

  test.each([
    ['a foreign host', get({}, 'GET', 'https://evil.example/notes')],
    ['a foreign Host header', get({ host: 'evil.example' })],
    [
      'an image request of another page',
      get({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
    ],
    [
      'a frame of another page',
      get({
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'iframe',
      }),
    ],
    ['HEAD by another page', get({ 'sec-fetch-site': 'cross-site' }, 'HEAD')],
    ['a POST of a foreign page', get({ origin: 'https://evil.example' }, 'POST')],
  ])('refuses %s', async (_, request) => {
    expect(await asked(request)).toEqual([403, null]);
  });

  test.each([
    ['a client that is no browser', get({}), null],
    ['HEAD', get({}, 'HEAD'), null],
    ['its own page', get({ origin: 'https://mcp.example' }, 'POST'), null],
    ['a listed page', get({ origin: 'https://app.example' }, 'POST'), 'https://app.example'],
    [
      'a link',
      get({
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      }),
      null,
    ],
  ])('lets %s pass', async (_, request, origin) => {
    expect(await asked(request)).toEqual([200, origin]);
  });

  test('throws for a host with a scheme', () => {
    expect(() => screen({ allowedHosts: ['https://mcp.example'] })).toThrow(ListenError);
  });
});
