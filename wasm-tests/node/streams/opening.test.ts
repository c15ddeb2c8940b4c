import { afterEach, expect, test, vi } from 'vitest';
import type { AttachOptions } from '../../../dist/bus/attachable-bus.js';
import type { Opening } from '../../../dist/bus/opening.js';
import type { ServerStream } from '../../../dist/bus/server-stream.js';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, messagesOf, open, refusal, serving, TOOLS } from '../serving.ts';
import { interceptTasks } from './connected.ts';

const PROMPTS = { promptsListChanged: true };
const REFUSED = { status: 503, code: -32_603, retryAfter: '2' };

const principal = (request: Request) => request.headers.get('x-user') ?? undefined;

afterEach(() => {
  vi.restoreAllMocks();
});

/** A server whose streams share one socket, and one stream on it. */
async function shared(bus = new BreakableBus('shared')) {
  const onError = vi.fn();
  const server = serving({ bus, principal, onError, keepAliveMs: 0 });
  const stream = await open(server, TOOLS, { headers: { 'x-user': 'ben' } });
  await stream.message();
  const request = (signal = new AbortController().signal) =>
    server.fetch(listenRequest(PROMPTS, { headers: { 'x-user': 'ann' }, signal }));
  return { bus, onError, request, server, stream };
}

/** A shared bus that passes each stream to `onAttached` once the bus has confirmed it. */
class EndingBus extends BreakableBus {
  onAttached: (stream: ServerStream) => void = () => {};

  override async openStream(opening: Opening, options: AttachOptions) {
    const stream = await super.openStream(opening, options);
    await stream.attached;
    this.onAttached(stream);
    return stream;
  }
}

test('a stream whose caller is disconnected before the bus has confirmed is refused', async () => {
  const { bus, onError, request, server, stream } = await shared();
  const held = vi.fn();
  for (const socket of bus.sockets) Object.assign(socket, { send: held });
  const response = request();
  await expect.poll(() => held).toHaveBeenCalled();
  // Its request ends the stream later than another one could acknowledge it.
  interceptTasks(
    () => true,
    (task) => setTimeout(task, 20),
  );
  await server.disconnect('ann');
  expect(await refusal(await response)).toEqual(REFUSED);
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'bus-lost' }));
  expect([server.stats().open, server.listeners('ann')]).toEqual([1, 0]);
  stream.drop();
});

test('a stream that ends as soon as the bus has confirmed is refused', async () => {
  const bus = new EndingBus('shared');
  const { request, server, stream } = await shared(bus);
  bus.onAttached = (ended) => ended.abort();
  expect(await refusal(await request())).toEqual(REFUSED);
  expect([server.stats().open, server.listeners('ann')]).toEqual([1, 0]);
  stream.drop();
});

test('a client that leaves as soon as the bus has confirmed leaves nothing behind', async () => {
  const bus = new EndingBus('shared');
  const { onError, request, server, stream } = await shared(bus);
  const abort = new AbortController();
  bus.onAttached = () => abort.abort();
  await request(abort.signal);
  expect([server.stats().open, server.listeners('ann')]).toEqual([1, 0]);
  expect(onError).not.toHaveBeenCalled();
  stream.drop();
});

test('the response to a stream that ends before its response is created ends too', async () => {
  const bus = new EndingBus('shared');
  const { request, server, stream } = await shared(bus);
  bus.onAttached = async (ended) => {
    for (let turn = 0; turn < 100 && server.stats().open < 2; turn += 1) await Promise.resolve();
    ended.abort();
  };
  const response = await request();
  expect(response.status).toBe(200);
  expect(await messagesOf(response)).toEqual([]);
  expect([server.stats().open, server.stats().ended.aborted]).toEqual([1, 1]);
  stream.drop();
});
