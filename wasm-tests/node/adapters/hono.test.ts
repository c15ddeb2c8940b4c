import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { ListenHandler } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { served } from '../../host/http-server.ts';
import { acknowledged, listChanged, listen } from '../../host/listen.ts';
import { serving, TOOLS } from '../serving.ts';
import { readLate } from './slow-client.ts';

// A busy machine is no failure.
vi.setConfig({ testTimeout: 30_000 });

/** As `serve` of `@hono/node-server` serves an app. */
function app(server: ListenHandler) {
  const hono = new Hono().all('/mcp', (context) => server.fetch(context.req.raw));
  return getRequestListener(hono.fetch);
}

test('a stream under Hono on Node is acknowledged, receives a change, and ends with its client', async () => {
  const server = serving();
  const stream = await listen(`${await served(app(server))}/mcp`, TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  stream.drop();
  await expect.poll(() => server.stats().ended.left).toBe(1);
});

test('a stream under Hono on Node collapses its cues while its client reads nothing', async () => {
  const { received, most } = await readLate(app);
  expect(received).toBeGreaterThan(0);
  expect(received).toBeLessThan(most / 2);
});
