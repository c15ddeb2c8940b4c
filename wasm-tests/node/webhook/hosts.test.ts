import { createServer, type RequestListener } from 'node:http';
import express from 'express';
import { Hono } from 'hono';
import { toNodeHandler } from 'mcp-listen/node';
import { createWebhookReceiver } from 'mcp-listen/webhook';
import { expect, onTestFinished, test } from 'vitest';
import { delivery, eventOf, HOOK_SECRET } from '../../host/webhook.ts';

function receiving() {
  const handled: [id: string, args: number][] = [];
  const receiver = createWebhookReceiver({
    secrets: HOOK_SECRET,
    onEvent: ({ eventId }, { args }) => handled.push([eventId, args.length]),
    onGap: () => {},
    onTerminated: () => {},
  });
  return { handled, receiver };
}

/** Serves on Node's HTTP, and returns a function that posts an event to a path. */
async function served(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return async (eventId: string, path = '/hook') => {
    const { headers } = delivery(eventOf(eventId));
    const body = JSON.stringify(eventOf(eventId));
    const url = `http://127.0.0.1:${port}${path}`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
}

test('a route of Hono receives, with the context of Hono as an argument', async () => {
  const { handled, receiver } = receiving();
  const app = new Hono();
  app.post('/hook', (context) => receiver.fetch(context.req.raw, context));
  expect((await app.fetch(delivery(eventOf('evt_1')))).status).toBe(204);
  expect(handled).toEqual([['evt_1', 1]]);
});

test('an HTTP server of Node receives', async () => {
  const { handled, receiver } = receiving();
  const post = await served(toNodeHandler(receiver));
  expect([await post('evt_1'), await post('evt_1'), await post('evt_2')]).toEqual([204, 204, 204]);
  expect(handled.map(([id]) => id)).toEqual(['evt_1', 'evt_2']);
});

test('a route of Express receives the body as it was sent', async () => {
  const { handled, receiver } = receiving();
  const app = express();
  app.post('/hook', toNodeHandler(receiver));
  app.post('/raw', express.raw({ type: '*/*' }), toNodeHandler(receiver));
  const post = await served(app);
  expect([await post('evt_1'), await post('evt_2', '/raw')]).toEqual([204, 204]);
  expect(handled.map(([id]) => id)).toEqual(['evt_1', 'evt_2']);
});
