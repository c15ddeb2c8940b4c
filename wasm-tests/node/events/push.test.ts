import { describe, expect, test, vi } from 'vitest';
import {
  EventStream,
  elapse,
  failure,
  listing,
  occurrence,
  Script,
  settled,
  useVirtualTime,
  watching,
} from './scripted.ts';

useVirtualTime();

/** A watch by push whose stream is open. */
async function pushing(options: Parameters<typeof watching>[1] = {}) {
  const stream = new EventStream();
  const script = new Script(stream.respond);
  const watched = watching(script, { mode: 'push', ...options });
  await settled();
  stream.send(['active', { cursor: 'c0', truncated: false }]);
  await settled();
  return { ...watched, script, stream };
}

describe('a request', () => {
  test('has the header fields and the _meta of 2026-07-28, and declares the extension', async () => {
    const { script } = await pushing({
      arguments: { shop: 3 },
      clientInfo: { name: 'tests', version: '1' },
      headers: { 'x-key': 'k' },
      token: 'secret',
      maxAgeMs: 60_000,
    });
    const [{ message, request } = { message: undefined, request: new Request('https://x') }] =
      script.sent;
    expect(Object.fromEntries(request.headers)).toEqual({
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer secret',
      'content-type': 'application/json',
      'mcp-method': 'events/stream',
      'mcp-protocol-version': '2026-07-28',
      'x-key': 'k',
    });
    expect(message).toEqual({
      jsonrpc: '2.0',
      id: 'mcp-listen:1',
      method: 'events/stream',
      params: {
        name: 'order.paid',
        arguments: { shop: 3 },
        maxAgeMs: 60_000,
        cursor: null,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: { 'io.modelcontextprotocol/events': {} },
          },
        },
      },
    });
  });

  test('names this package where no client is named', async () => {
    const { script } = await pushing();
    expect(script.sent[0]?.params['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientInfo': { name: 'mcp-listen' },
    });
  });
});

describe('the mode', () => {
  test('is push where the server lists push and poll', async () => {
    const script = new Script(listing('poll', 'push', 'webhook'), new EventStream().respond);
    const { watch } = watching(script);
    await settled();
    expect(script.methods).toEqual(['events/list', 'events/stream']);
    expect(watch.mode).toBe('push');
  });

  test('is found on a later page of the list', async () => {
    const first = { events: [{ name: 'other', delivery: ['push'] }], nextCursor: 'p2' };
    const script = new Script(
      ({ message: { id } }) => Response.json({ jsonrpc: '2.0', id, result: first }),
      listing('push'),
    );
    watching(script);
    await settled();
    expect(script.methods).toEqual(['events/list', 'events/list', 'events/stream']);
    expect(script.sent[1]?.params['cursor']).toBe('p2');
  });

  test.each([
    ['an event with webhooks alone', listing('webhook')],
    ['an event that is not listed', listing()],
  ])('cannot be chosen for %s', async (_, responder) => {
    const { codes, watch } = watching(new Script(responder));
    await watch.stopped;
    expect(codes()).toEqual(['not-supported']);
    expect(watch).toMatchObject({ state: 'stopped', error: { code: 'not-supported' } });
  });

  test.each([-32_026, -32_014])('is poll where push is refused with %i', async (code) => {
    const script = new Script(listing('push', 'poll'), failure(code));
    const { errors, watch } = watching(script);
    await settled();
    expect(script.methods).toEqual(['events/list', 'events/stream', 'events/poll']);
    expect([watch.mode, errors]).toEqual(['poll', []]);
  });
});

describe('a stream', () => {
  test('passes on its events in order, one at a time', async () => {
    const running: string[] = [];
    const { stream, watch } = await pushing({
      onEvent: async ({ eventId }) => {
        running.push(`begin ${eventId}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
        running.push(`end ${eventId}`);
      },
    });
    expect([watch.state, watch.mode]).toEqual(['live', 'push']);
    for (const id of ['evt_1', 'evt_2']) stream.send(['event', occurrence(id, { cursor: id })]);
    await elapse(250);
    expect(running).toEqual(['begin evt_1', 'end evt_1', 'begin evt_2', 'end evt_2']);
  });

  test('may be cut anywhere, with any line ends', async () => {
    const { handled, stream } = await pushing();
    const text = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/events/event',
      params: occurrence('evt_ö'),
    });
    for (const end of ['\n', '\r\n', '\r'])
      for (const part of `:comment${end}id: 4${end}data:${text}${end}${end}data${end}${end}`)
        stream.raw(part);
    stream.raw(':');
    await settled();
    expect(handled).toEqual(['evt_ö', 'evt_ö', 'evt_ö']);
  });

  test('reports malformed events and recoverable errors, and goes on', async () => {
    const { codes, handled, stream } = await pushing();
    stream.send(
      ['event', { eventId: 'evt_1' }],
      ['error', { error: { code: -32_603, message: 'no match' } }],
      ['other', {}],
      ['event', occurrence('evt_2')],
    );
    await settled();
    expect(codes()).toEqual(['malformed-event', 'event-failed']);
    expect(handled).toEqual(['evt_2']);
  });

  test('is closed with the watch, and with its signal', async () => {
    const abort = new AbortController();
    for (const end of [() => abort.abort(), undefined]) {
      const { errors, stream, watch } = await pushing(end && { signal: abort.signal });
      if (end === undefined) await watch.close();
      else end();
      await watch.stopped;
      expect([stream.isLeft, watch.state, errors]).toEqual([true, 'stopped', []]);
    }
    expect(() => watching(new Script(), { signal: abort.signal })).toThrow();
  });
});

describe('a gap', () => {
  test('is reported where the server has truncated, at the start and later', async () => {
    const stream = new EventStream();
    const script = new Script(stream.respond);
    const { handled } = watching(script, { mode: 'push', cursor: storeOf('old') });
    await settled();
    stream.send(
      ['active', { cursor: 'c1', truncated: true }],
      ['event', occurrence('evt_1', { cursor: 'c2' })],
      ['active', { cursor: 'c9', truncated: true }],
    );
    await settled();
    expect(handled).toEqual([{ cursor: 'c1' }, 'evt_1', { cursor: 'c9' }]);
    expect(script.sent[0]?.params['cursor']).toBe('old');
  });

  test('is reported after the loss of a stream without cursors, and not before', async () => {
    const [first, second] = [new EventStream(), new EventStream()];
    const script = new Script(first.respond, second.respond);
    const { handled } = watching(script, { mode: 'push' });
    await settled();
    first.send(['active', { cursor: null, truncated: false }]);
    await settled();
    expect(handled).toEqual([]);
    first.end();
    await elapse(1_000);
    second.send(['active', { cursor: null }], ['heartbeat', { cursor: null }]);
    await settled();
    expect(handled).toEqual([{ cursor: null }]);
  });
});

describe('the cursor', () => {
  test('is saved once an event was handled, and with active and heartbeats', async () => {
    const cursor = storeOf(null);
    const handling = Promise.withResolvers<void>();
    const { stream } = await pushing({ cursor, onEvent: () => handling.promise });
    expect(cursor.saved).toEqual(['c0']);
    stream.send(['event', occurrence('evt_1', { cursor: 'c1' })]);
    await settled();
    expect(cursor.saved).toEqual(['c0']);
    handling.resolve();
    await settled();
    stream.send(['heartbeat', { cursor: 'c1' }], ['heartbeat', { cursor: 'c7' }]);
    await settled();
    expect(cursor.saved).toEqual(['c0', 'c1', 'c7']);
  });

  test('that cannot be saved is reported; one that cannot be loaded is loaded again', async () => {
    const load = vi.fn().mockRejectedValueOnce(new Error('down')).mockResolvedValue('c5');
    const save = () => Promise.reject(new Error('full'));
    const stream = new EventStream();
    const script = new Script(stream.respond);
    const { codes, watch } = watching(script, { mode: 'push', cursor: { load, save } });
    await settled();
    expect([watch.state, script.sent]).toEqual(['waiting', []]);
    await elapse(1_000);
    expect(script.sent[0]?.params['cursor']).toBe('c5');
    stream.send(['active', { cursor: 'c6' }]);
    await settled();
    expect(watch.state).toBe('live');
    expect(codes()).toEqual(['handler-failed', 'handler-failed']);
  });
});

test('an event whose handler fails is passed on again before the next one', async () => {
  const cursor = storeOf(null);
  const onEvent = vi.fn().mockRejectedValueOnce(new Error('1')).mockRejectedValueOnce('2');
  const { codes, script, stream } = await pushing({ cursor, onEvent });
  stream.send(
    ['event', occurrence('evt_1', { cursor: 'c1' })],
    ['event', occurrence('evt_2', { cursor: 'c2' })],
  );
  await settled();
  expect([onEvent.mock.calls.length, cursor.saved]).toEqual([1, ['c0']]);
  await elapse(501);
  expect(onEvent).toHaveBeenCalledTimes(2);
  await elapse(1_001);
  const ids = onEvent.mock.calls.map(([{ eventId }]) => eventId);
  expect(ids).toEqual(['evt_1', 'evt_1', 'evt_1', 'evt_2']);
  expect(cursor.saved).toEqual(['c0', 'c1', 'c2']);
  expect(codes()).toEqual(['handler-failed', 'handler-failed']);
  expect(script.sent).toHaveLength(1);
});

function storeOf(first: string | null) {
  const saved: string[] = [];
  return { saved, load: () => first, save: (cursor: string) => void saved.push(cursor) };
}
