import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { callRequest } from '../../host/call.ts';
import { LISTEN_HEADERS, listen, listenBody } from '../../host/listen.ts';
import { pause } from '../../host/pause.ts';
import { Drip } from '../../host/wire/drip.ts';

let workerd: Workerd;
let here = '';

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    edges: 1,
  });
  [here = ''] = workerd.edges;
}, 60_000);

afterAll(() => workerd?.stop());

const TYPES = { eventsListChanged: true };
const ADA = { authorization: 'ada' };

async function held(): Promise<number> {
  return (await (await fetch(`${here}/held`)).json()) as number;
}

/** Sends requests with a body, and resets their connections while the server handles them. */
async function dropWhileHandled(
  count: number,
  headers: Record<string, string>,
  body: string,
): Promise<void> {
  await fetch(`${here}/hold`);
  const before = await held();
  const length = { 'content-length': `${new TextEncoder().encode(body).length}` };
  const requests = await Promise.all(
    Array.from({ length: count }, () =>
      Drip.begin(`${here}/mcp`, { ...headers, ...length, ...ADA }, body),
    ),
  );
  await expect.poll(held).toBe(before + count);
  for (const request of requests) request.reset();
  // Until workerd has noticed.
  await pause(500);
  await fetch(`${here}/release`);
}

/** Lets a minute pass for the server. */
async function passMinute(): Promise<void> {
  await fetch(`${here}/advance?ms=60000`);
}

// The server asks for the capabilities until it knows them, so this is the first test.
test('openings of streams that workerd has dropped count for their caller for a minute', async () => {
  await dropWhileHandled(16, LISTEN_HEADERS, listenBody(TYPES));
  const open = () => listen(`${here}/mcp`, TYPES, { headers: ADA });
  expect((await open()).response.status).toBe(429);
  await passMinute();
  const stream = await open();
  expect(stream.response.status).toBe(200);
  stream.drop();
});

test('polls that workerd has dropped count for their caller for a minute', async () => {
  const params = { name: 'judged', arguments: { topic: 'a' }, cursor: '' };
  await fetch(`${here}/notify`, { method: 'POST', body: JSON.stringify(['judged', 'a']) });
  const { headers, text } = await parts(callRequest(`${here}/mcp`, 'events/poll', params));
  await dropWhileHandled(4, headers, text);
  const poll = async () => {
    const init = { method: 'POST', headers: { ...headers, ...ADA }, body: text };
    return (await fetch(`${here}/mcp`, init)).json();
  };
  expect(await poll()).toMatchObject({ error: { data: { limit: 'polls' } } });
  await passMinute();
  expect(await poll()).toMatchObject({ result: {} });
});

async function parts(request: Request): Promise<{ headers: Record<string, string>; text: string }> {
  return { headers: Object.fromEntries(request.headers), text: await request.text() };
}
