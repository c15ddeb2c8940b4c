import type { RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { toNodeHandler, type WebHandler } from 'mcp-listen/node';
import { expect, test, vi } from 'vitest';
import { served } from '../../host/http-server.ts';
import {
  acknowledged,
  LISTEN_HEADERS,
  listChanged,
  listen,
  listenBody,
  updated,
} from '../../host/listen.ts';
import { RESULT, serving, TOOLS } from '../serving.ts';
import { asking } from './slow-client.ts';

// A busy machine is no failure.
vi.setConfig({ testTimeout: 30_000 });

const NOTES = { ...TOOLS, resourceSubscriptions: ['note://a', 'note://b'] };

test('the events of one turn are one write to each client, each subject once', async () => {
  const server = serving();
  const written = watchedWrites();
  const origin = await served(written.by(toNodeHandler(server)));
  const streams = [await listen(origin, NOTES), await listen(origin, NOTES)];
  for (const stream of streams) await stream.message();
  written.chunks.length = 0;
  const { notify } = server;
  const published = [notify.resourceUpdated('note://b'), notify.toolsChanged()];
  published.push(notify.resourceUpdated('note://a'), notify.resourceUpdated('note://b'));
  await Promise.all(published);
  for (const stream of streams) {
    const messages = new Set([await stream.message(), await stream.message()]);
    messages.add(await stream.message());
    expect(messages).toEqual(
      new Set([updated('1', 'note://b'), listChanged('1', 'tools'), updated('1', 'note://a')]),
    );
  }
  expect(written.chunks).toHaveLength(2);
});

test('an event is written to the connection before its publish resolves', async () => {
  const server = serving();
  const written = watchedWrites();
  const stream = await listen(await served(written.by(toNodeHandler(server))), TOOLS);
  await stream.message();
  await expect.poll(() => written.unsent).toBe(0);
  written.chunks.length = 0;
  await server.notify.toolsChanged();
  expect(written.chunks).toEqual([`event: message\ndata: ${listChanged('1', 'tools')}\n\n`]);
});

test('many events of one turn arrive all, in chunks of bounded size', async () => {
  const server = serving();
  const written = watchedWrites();
  const uris = Array.from({ length: 256 }, (_, place) => `note://${place}/${'x'.repeat(100)}`);
  const origin = await served(written.by(toNodeHandler(server)));
  const stream = await listen(origin, { resourceSubscriptions: uris });
  await stream.message();
  await expect.poll(() => written.unsent).toBe(0);
  written.chunks.length = 0;
  for (const uri of uris) void server.notify.resourceUpdated(uri);
  for (const uri of uris) expect(await stream.message()).toBe(updated('1', uri));
  expect(written.chunks[0]?.length).toBeLessThan(16_384);
});

test('a client that reads nothing delays its next chunk, and receives every last state', async () => {
  const server = serving({ keepAliveMs: 0, limits: { maxRequestBodySize: 1_000_000 } });
  const written = watchedWrites();
  const uris = Array.from({ length: 200 }, (_, place) => `note://${place}/${'x'.repeat(2_000)}`);
  const handler = written.by(toNodeHandler(server));
  const client = await asking(await served(handler), listenBody({ resourceSubscriptions: uris }));
  await expect.poll(() => written.unsent + written.chunks.length).toBeGreaterThan(0);
  for (let round = 0; round < 100; round += 1) {
    for (const uri of uris) void server.notify.resourceUpdated(uri);
    await new Promise(setImmediate);
  }
  expect(written.mostUnsent).toBe(1);
  await server.close();
  const received = await text(client.resume());
  for (const uri of uris) expect(received).toContain(uri);
  expect(received.split('notifications/resources/updated').length).toBeLessThan(10_000);
  expect(received).toContain(RESULT);
});

test('a chunk of an ended stream that leaves late makes no room for a later stream', async () => {
  const server = serving({
    keepAliveMs: 0,
    limits: { maxRequestBodySize: 1_000_000 },
    principal: ({ headers }) => headers.get('x-name') ?? 'other',
  });
  const written = [watchedWrites(), watchedWrites()] as const;
  const handler = toNodeHandler(server);
  const origins = await Promise.all(written.map(({ by }) => served(by(handler))));
  const uri = `note://${'x'.repeat(2_000)}`;
  const body = listenBody({ resourceSubscriptions: [uri] });
  // Until a chunk stays: then nothing is pending behind it.
  const filled = async (of: (typeof written)[number]): Promise<void> => {
    for (let waits = 0; waits < 20; waits += 1) {
      if (of.unsent > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      else {
        await server.notify.resourceUpdated(uri);
        await new Promise(setImmediate);
        waits = 0;
      }
    }
  };
  const first = await asking(origins[0] as string, body, { 'x-name': 'first' });
  await expect.poll(() => server.stats().open).toBe(1);
  await filled(written[0]);
  await server.bus.publish({ kind: 'disconnect', principal: 'first' });
  await expect.poll(() => server.stats().open).toBe(0);
  await asking(origins[1] as string, body);
  await expect.poll(() => server.stats().open).toBe(1);
  await filled(written[1]);
  first.resume();
  await expect.poll(() => written[0].unsent).toBe(0);
  await server.notify.resourceUpdated(uri);
  expect(written[1].mostUnsent).toBe(1);
});

test('an event is sent before the result of a close in the same turn', async () => {
  const server = serving();
  const stream = await listen(await served(toNodeHandler(server)), TOOLS);
  await stream.message();
  void server.notify.toolsChanged();
  void server.close();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
});

test('keep-alives are written to an idle connection', async () => {
  const server = serving({ keepAliveMs: 20 });
  const stream = await listen(await served(toNodeHandler(server)), TOOLS);
  expect(await stream.block()).toContain('acknowledged');
  expect(await stream.block()).toMatch(/^:/);
  expect(await stream.block()).toMatch(/^:/);
});

test('a write that throws cuts off its stream, and no other one', async () => {
  const server = serving();
  const onError = vi.fn();
  const problem = new Error('problem');
  const handler = toNodeHandler(server, { onError });
  let breaks = false;
  const origin = await served((incoming, outgoing) => {
    const write = outgoing.write.bind(outgoing);
    const isFirst = server.stats().open === 0;
    outgoing.write = ((...args: Parameters<typeof write>) => {
      if (breaks && isFirst) throw problem;
      return write(...args);
    }) as typeof write;
    void handler(incoming, outgoing);
  });
  const streams = [await listen(origin, TOOLS), await listen(origin, TOOLS)];
  for (const stream of streams) await stream.message();
  breaks = true;
  await server.notify.toolsChanged();
  expect(await streams[1]?.message()).toBe(listChanged('1', 'tools'));
  await expect(streams[0]?.message()).rejects.toThrow();
  expect(onError.mock.calls).toEqual([[problem]]);
  await expect.poll(() => server.stats()).toMatchObject({ open: 1, ended: { left: 1 } });
});

test.each(['disconnect', 'close', 'leave'])(
  'code that wraps the end of a response and throws cuts off its stream alone: %s',
  async (how) => {
    const server = serving({ principal: ({ headers }) => headers.get('x-name') ?? 'other' });
    const onError = vi.fn();
    const handler = toNodeHandler(server, { onError });
    const problem = new Error('problem');
    const origin = await served((incoming, outgoing) => {
      if (incoming.headers['x-name'] === 'first')
        outgoing.end = () => {
          throw problem;
        };
      void handler(incoming, outgoing);
    });
    const first = await asking(origin, listenBody(TOOLS), { 'x-name': 'first' });
    first.resume();
    const other = await listen(origin, TOOLS);
    await other.message();
    if (how === 'leave') first.destroy();
    if (how === 'disconnect') await server.bus.publish({ kind: 'disconnect', principal: 'first' });
    if (how === 'close') await server.close();
    await expect.poll(() => server.stats().open).toBe(how === 'close' ? 0 : 1);
    if (how !== 'close') await server.notify.toolsChanged();
    expect(await other.message()).toBe(how === 'close' ? RESULT : listChanged('1', 'tools'));
    expect(onError.mock.calls).toEqual(how === 'leave' ? [] : [[problem]]);
  },
);

test('the end of a response gets no callback, which code that wraps it may take for a chunk', async () => {
  const server = serving();
  const ends: unknown[][] = [];
  const handler = toNodeHandler(server);
  const origin = await served((incoming, outgoing) => {
    const end = outgoing.end.bind(outgoing) as (...args: unknown[]) => ServerResponse;
    outgoing.end = (...args: unknown[]) => {
      ends.push(args);
      return end(...args);
    };
    void handler(incoming, outgoing);
  });
  const stream = await listen(origin, TOOLS);
  await stream.message();
  await server.close();
  expect(await stream.message()).toBe(RESULT);
  await expect.poll(() => ends).toEqual([[]]);
});

test('a response to a client that has left is over, though its stream ended before', async () => {
  const server = serving({ principal: () => 'first' });
  let left: () => void = () => {};
  const leaving: WebHandler = {
    fetch: async (request) => {
      const response = await server.fetch(request);
      await server.bus.publish({ kind: 'disconnect', principal: 'first' });
      await new Promise<void>((resolve) => {
        left = resolve;
      });
      return response;
    },
  };
  const handler = toNodeHandler(leaving);
  const over = vi.fn();
  const origin = await served((incoming, outgoing) => {
    outgoing.once('close', () => left());
    void handler(incoming, outgoing).then(over);
  });
  const client = await asking(origin, listenBody(TOOLS));
  await expect.poll(() => server.stats().opened).toBe(1);
  client.destroy();
  await expect.poll(() => over.mock.calls.length).toBe(1);
});

test('a response whose body is already read gets a 500', async () => {
  const server = serving();
  const onError = vi.fn();
  const reading: WebHandler = {
    fetch: async (request) => {
      const response = await server.fetch(request);
      response.body?.getReader();
      return response;
    },
  };
  const handler = toNodeHandler(reading, { onError });
  const response = await fetch(await served(handler), {
    method: 'POST',
    headers: LISTEN_HEADERS,
    body: listenBody(TOOLS),
  });
  expect(response.status).toBe(500);
  expect(onError).toHaveBeenCalledOnce();
});

test.each<[what: string, wrap: (response: Response) => unknown]>([
  ['is passed on', () => undefined],
  ['is in another response', ({ body, headers }) => new Response(body, { headers })],
  ['passes through another stream', piped],
  ['was read in part', readInPart],
])('the output of a body that %s arrives whole', async (_, wrap) => {
  const server = serving();
  const wrapping: WebHandler = {
    fetch: async (request) => {
      const response = await server.fetch(request);
      return ((await wrap(response)) as Response | undefined) ?? response;
    },
  };
  const stream = await listen(await served(toNodeHandler(wrapping)), TOOLS);
  if (wrap !== readInPart) expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await server.close();
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
});

test('a chunk that other code has requested and not read is sent first', async () => {
  const server = serving();
  const requesting: WebHandler = {
    fetch: async (request) => {
      const response = await server.fetch(request);
      const reader = response.body?.getReader();
      await reader?.read();
      const refused = expect(reader?.read()).rejects.toThrow();
      reader?.releaseLock();
      await refused;
      await server.notify.resourceUpdated('note://a');
      return response;
    },
  };
  const stream = await listen(await served(toNodeHandler(requesting)), NOTES);
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(updated('1', 'note://a'));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('a stream that was closed before its response is sent has its whole output', async () => {
  const server = serving();
  const closing: WebHandler = {
    fetch: async (request) => {
      const response = await server.fetch(request);
      await server.notify.toolsChanged();
      await server.close();
      return response;
    },
  };
  const stream = await listen(await served(toNodeHandler(closing)), TOOLS);
  expect(await stream.message()).toBe(acknowledged('1', TOOLS));
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(RESULT);
  expect(await stream.message()).toBeUndefined();
});

function piped({ body, headers }: Response): Response {
  return new Response(body?.pipeThrough(new TransformStream()), { headers });
}

async function readInPart({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  await reader?.read();
  reader?.releaseLock();
}

/** Counts what is written to the responses of a listener. */
function watchedWrites() {
  const watched = {
    chunks: [] as string[],
    /** Chunks that have not left the process, of all responses. */
    unsent: 0,
    mostUnsent: 0,
    by:
      (listener: RequestListener): RequestListener =>
      (incoming, outgoing) => {
        outgoing.write = counted(outgoing.write.bind(outgoing) as Write) as ServerResponse['write'];
        void listener(incoming, outgoing);
      },
  };
  const counted =
    (write: Write): Write =>
    (chunk, sent) => {
      watched.chunks.push(Buffer.from(chunk).toString());
      watched.unsent += 1;
      watched.mostUnsent = Math.max(watched.mostUnsent, watched.unsent);
      return write(chunk, (error) => {
        watched.unsent -= 1;
        sent?.(error);
      });
    };
  return watched;
}

type Write = (chunk: Uint8Array, sent?: (error?: Error | null) => void) => boolean;
