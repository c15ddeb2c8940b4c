import { createListenHandler, createProxy } from 'mcp-listen';
import { expect, test } from 'vitest';
import { listenRequest, TOOLS } from '../serving.ts';

test('server/discover carries the address from clientIp, not the one that the caller claims', async () => {
  const seen: (string | null)[] = [];
  const handler = createProxy('http://behind.example/mcp', {
    clientIp: ({ headers }) => headers.get('x-socket-address') ?? undefined,
    fetch: async ({ headers }) => {
      seen.push(headers.get('x-forwarded-for'));
      return new Response('{}');
    },
  });
  const headers = { 'x-socket-address': '192.0.2.7', 'x-forwarded-for': '6.6.6.6' };
  await createListenHandler(handler, { onError: () => {} }).fetch(
    listenRequest(TOOLS, { headers }),
  );
  expect(seen).toEqual(['192.0.2.7']);
});
