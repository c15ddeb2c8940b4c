import { describe, expect, test, vi } from 'vitest';
import {
  EventStream,
  elapse,
  failure,
  listing,
  occurrence,
  page,
  result,
  Script,
  settled,
  useVirtualTime,
  watching,
} from './scripted.ts';

useVirtualTime();

/** A watch by push whose stream is open at the cursor `c1`, and the stream after it. */
async function pushing(options: Parameters<typeof watching>[1] = {}) {
  const [stream, next] = [new EventStream(), new EventStream()];
  const script = new Script(stream.respond, next.respond);
  const watched = watching(script, { mode: 'push', ...options });
  await settled();
  stream.send(['active', { cursor: 'c0' }], ['event', occurrence('evt_1', { cursor: 'c1' })]);
  await settled();
  return { ...watched, next, script, stream };
}

describe('a stream that is lost', () => {
  test('is resumed at the cursor after a short wait', async () => {
    const { codes, handled, next, script, stream, watch } = await pushing();
    stream.end();
    await settled();
    expect(watch).toMatchObject({ state: 'waiting', error: { code: 'disconnected' } });
    await elapse(501);
    expect(script.sent.map(({ params }) => params['cursor'])).toEqual([null, 'c1']);
    next.send(['active', { cursor: 'c1' }], ['event', occurrence('evt_2')]);
    await settled();
    expect(watch).toMatchObject({ state: 'live', error: undefined });
    expect(handled).toEqual(['evt_1', 'evt_2']);
    expect(codes()).toEqual(['disconnected']);
  });

  test('counts as lost after a minute of silence, not before', async () => {
    const { codes, script, stream } = await pushing();
    for (let count = 0; count < 4; count += 1) {
      await elapse(59_000);
      stream.send(['heartbeat', { cursor: 'c1' }]);
    }
    await elapse(59_000);
    expect(codes()).toEqual([]);
    await elapse(1_100);
    expect(codes()).toEqual(['silence']);
    expect(stream.isLeft).toBe(true);
    await elapse(501);
    expect(script.sent).toHaveLength(2);
  });

  test('is not silent while a handler runs', async () => {
    const onEvent = () => new Promise<void>((resolve) => setTimeout(resolve, 100_000));
    const { codes, stream } = await pushing({ onEvent });
    await elapse(100_001);
    stream.send(['heartbeat', { cursor: 'c2' }]);
    await elapse(50_000);
    expect(codes()).toEqual([]);
  });

  test('never counts as silent with maxSilenceMs 0', async () => {
    const { codes } = await pushing({ maxSilenceMs: 0 });
    await elapse(3_600_000);
    expect(codes()).toEqual([]);
  });

  test('is resumed after a result too, without an error', async () => {
    const { errors, script, stream, watch } = await pushing();
    stream.write({ jsonrpc: '2.0', id: script.sent[0]?.message.id, result: {} });
    await settled();
    expect([watch.state, errors]).toEqual(['waiting', []]);
    await elapse(501);
    expect(script.sent).toHaveLength(2);
  });

  test('is resumed after an event that is too large or no JSON', async () => {
    for (const [text, code] of [
      [`data: ${'x'.repeat(4_200_000)}`, 'event-too-large'],
      ['data: {\n\n', 'invalid-response'],
    ] as const) {
      const { codes, stream } = await pushing();
      stream.raw(text);
      await settled();
      expect(codes()).toEqual([code]);
    }
  });
});

test('listeners are called for each change of state', async () => {
  const { next, stream, watch } = await pushing();
  const seen: unknown[] = [];
  const { subscribe } = watch;
  const stop = subscribe(() => seen.push([watch.state, watch.error?.code, watch.reconnects]));
  stream.end();
  await elapse(501);
  next.send(['active', { cursor: 'c1' }], ['event', occurrence('evt_2')]);
  await settled();
  stop();
  await watch.close();
  expect(seen).toEqual([
    ['waiting', 'disconnected', 0],
    ['connecting', 'disconnected', 0],
    ['live', undefined, 1],
  ]);
  expect(watch.state).toBe('stopped');
});

test('waits double up to 30 seconds, and begin again after half a minute of health', async () => {
  const stream = new EventStream();
  const failures = Array.from({ length: 9 }, () => failure(-32_603, { status: 503 }));
  const script = new Script(...failures, stream.respond);
  const { codes } = watching(script, { mode: 'push' });
  await elapse(150_000);
  stream.send(['active', { cursor: 'c' }]);
  await elapse(30_000);
  stream.end();
  await elapse(1_000);
  const times = script.sent.map(({ at }) => at);
  const waits = times.slice(1).map((at, place) => at - (times[place] ?? 0));
  const ceilings = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
  for (const [place, ceiling] of ceilings.entries()) {
    expect(waits[place]).toBeGreaterThanOrEqual(ceiling);
    expect(waits[place]).toBeLessThan(ceiling + 10);
  }
  expect((times.at(-1) ?? 0) - 1_800_000_000_000 - 180_000).toBeLessThan(510);
  expect(codes()).toEqual([...Array(9).fill('refused'), 'disconnected']);
});

test('a wait that the server asks for comes on top', async () => {
  const headers = { 'retry-after': '20' };
  const script = new Script(failure(-32_025, { headers, status: 429 }));
  const { errors } = watching(script, { mode: 'push' });
  await elapse(20_400);
  expect(script.sent).toHaveLength(1);
  expect(errors).toMatchObject([{ code: 'refused', status: 429, retryAfterMs: 20_000 }]);
  await elapse(103);
  expect(script.sent).toHaveLength(2);
});

describe('a termination', () => {
  test.each([
    [-32_024, 'forbidden'],
    [-32_012, 'forbidden'],
    [-32_023, 'not-found'],
    [-32_011, 'not-found'],
    [-32_603, 'internal-error'],
  ])('with %i stops a stream: %s', async (code, reason) => {
    const { errors, handled, script, stream, watch } = await pushing();
    stream.send(['terminated', { error: { code, message: 'over', data: { kind: 'event' } } }]);
    await watch.stopped;
    expect(handled).toEqual(['evt_1', reason]);
    expect(watch).toMatchObject({ state: 'stopped', error: { code: 'refused', rpcCode: code } });
    await elapse(60_000);
    expect([script.sent.length, errors]).toEqual([1, []]);
  });

  test('of a poll is an error', async () => {
    const script = new Script(page('c0'), failure(-32_024));
    const { errors, handled, watch } = watching(script, { mode: 'poll' });
    await elapse(5_001);
    await watch.stopped;
    expect([handled, errors]).toEqual([['forbidden'], []]);
  });

  test('as forbidden is tried once more with another token, if tokens come from a function', async () => {
    const tokens = ['first', 'second'];
    const { errors, handled, next, script, stream, watch } = await pushing({
      token: () => tokens.shift() ?? 'none',
    });
    script.add(failure(-32_024));
    for (const open of [stream, next]) {
      open.send(['active', { cursor: 'c' }], ['terminated', { error: { code: -32_024 } }]);
      await elapse(1_001);
    }
    await watch.stopped;
    expect(script.sent.map(({ request }) => request.headers.get('authorization'))).toEqual([
      'Bearer first',
      'Bearer second',
      'Bearer none',
    ]);
    expect([handled, errors]).toEqual([['evt_1', 'forbidden'], []]);
  });

  test('whose handler fails is reported', async () => {
    const onTerminated = () => Promise.reject(new Error('busy'));
    const { codes, stream, watch } = await pushing({ onTerminated });
    stream.send(['terminated', {}]);
    await watch.stopped;
    expect(codes()).toEqual(['handler-failed']);
  });
});

describe('a refusal', () => {
  test.each([
    ['401', () => new Response(null, { status: 401 }), 'refused'],
    ['403', () => new Response('no', { status: 403 }), 'refused'],
    ['an unknown method', failure(-32_601, { status: 404 }), 'not-supported'],
    ['an unknown event', failure(-32_011), 'refused'],
    ['an event that is not allowed', failure(-32_024), 'refused'],
    ['wrong arguments', failure(-32_602), 'refused'],
    ['another revision', failure(-32_022), 'refused'],
    ['an error with status 200', failure(-32_012, { status: 200 }), 'refused'],
  ])('with %s stops the watch, and onError is called', async (_, responder, code) => {
    const script = new Script(responder);
    const { codes, handled, watch } = watching(script, { mode: 'push' });
    await watch.stopped;
    await elapse(60_000);
    expect([codes(), handled, script.sent.length]).toEqual([[code], [], 1]);
    expect(watch).toMatchObject({ state: 'stopped', error: { code } });
  });

  test('in a stream counts like one before it', async () => {
    const stream = new EventStream();
    const { codes, watch } = watching(new Script(stream.respond), { mode: 'push' });
    await settled();
    stream.write({ jsonrpc: '2.0', id: null, error: { code: -32_024, message: 'no' } });
    await watch.stopped;
    expect(codes()).toEqual(['refused']);
  });

  test('by a redirect stops the watch, so that credentials stay here', async () => {
    const redirect = () => new Response(null, { status: 302, headers: { location: 'https://x' } });
    const script = new Script(redirect);
    const { codes, watch } = watching(script, { mode: 'push', token: 'secret' });
    await watch.stopped;
    expect(codes()).toEqual(['redirected']);
  });

  test.each([
    ['a network error', () => Promise.reject(new TypeError('refused')), 'disconnected'],
    ['500', () => new Response('oops', { status: 500 }), 'refused'],
    ['404 of a proxy', () => new Response('no', { status: 404 }), 'refused'],
    ['another media type', () => new Response('<p>', HTML), 'invalid-response'],
    ['no JSON', () => new Response('{', JSON_TYPE), 'invalid-response'],
    ['too many streams', failure(-32_013), 'refused'],
  ])('with %s is tried again', async (_, responder, code) => {
    const script = new Script(responder, listing('push'));
    const { codes, watch } = watching(script, { mode: 'push' });
    await settled();
    expect([codes(), watch.state]).toEqual([[code], 'waiting']);
    await elapse(502);
    expect(script.sent.length).toBeGreaterThan(1);
  });

  test('with 401 is tried once more with another token', async () => {
    const stream = new EventStream();
    const script = new Script(() => new Response(null, { status: 401 }), stream.respond);
    const tokens = ['first', 'second'];
    watching(script, { mode: 'push', token: () => tokens.shift() ?? '' });
    await settled();
    expect(script.sent.map(({ request }) => request.headers.get('authorization'))).toEqual([
      'Bearer first',
      'Bearer second',
    ]);
  });
});

test('a server that does not respond has failed after a minute', async () => {
  const script = new Script();
  const { codes } = watching(script);
  await elapse(60_002);
  expect(codes()).toEqual(['silence']);
  expect(script.sent[0]?.request.signal.aborted).toBe(true);
});

test('an exception of onError or of a listener does not end the watch', async () => {
  const thrown: unknown[] = [];
  vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
    try {
      task();
    } catch (error) {
      thrown.push(error);
    }
  });
  const onError = () => {
    throw new Error('mine');
  };
  const script = new Script(failure(-32_603, { status: 503 }), result({ events: [] }));
  const { watch } = watching(script, { onError });
  watch.subscribe(onError);
  await elapse(502);
  expect(script.methods).toEqual(['events/list', 'events/list']);
  // Two errors, and the states `waiting`, `connecting` and `stopped`.
  expect(thrown).toHaveLength(5);
});

test('numbers that make no sense are invalid options', () => {
  for (const options of [{ maxAgeMs: -1 }, { maxSilenceMs: Number.NaN }])
    expect(() => watching(new Script(), options)).toThrow(
      expect.objectContaining({ code: 'invalid-options' }),
    );
});

const HTML = { headers: { 'content-type': 'text/html' } };
const JSON_TYPE = { headers: { 'content-type': 'application/json' } };
