import { describe, expect, test } from 'vitest';
import { useFixture } from '../../host/fixture/fixture.ts';
import { acknowledged, updated } from '../../host/listen.ts';
import { responseOf } from '../../host/response.ts';
import { BEARER, SECRET, signedFields } from '../../host/signing.ts';

const fixture = useFixture({ IDEMPOTENCY_KEYS: '3' });
const URI = 'note://todo';
function updateOf(uri = URI): object {
  return { kind: 'resource_updated', uri };
}

function post(body: unknown, headers: Record<string, string> = BEARER): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fixture().request(0, '/endpoint', { method: 'POST', headers, body: text });
}

function position(): Promise<number> {
  return fixture().position();
}

describe('a publish', () => {
  test('reaches another isolate, and its response is the position', async () => {
    const stream = await fixture().subscribe(1, { resourceSubscriptions: [URI] });
    expect(await stream.message()).toBe(acknowledged('1', { resourceSubscriptions: [URI] }));
    const before = await position();
    expect(await responseOf(post(updateOf()))).toEqual([200, { position: before + 1 }]);
    expect(await stream.message()).toBe(updated('1', URI));
  });

  test('of an array is one transaction, and its response has the position of each event', async () => {
    const before = await position();
    const batch = [updateOf('note://a'), updateOf('note://b')];
    const positions = [before + 1, before + 2];
    expect(await responseOf(post(batch))).toEqual([200, { position: before + 2, positions }]);
    expect(await responseOf(post([updateOf()]))).toEqual([
      200,
      { position: before + 3, positions: [before + 3] },
    ]);
  });

  test('may have the form of the notification, or the event names of the Python SDK', async () => {
    const stream = await fixture().subscribe(1, { resourceSubscriptions: [URI] });
    await stream.message();
    await post({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: URI } });
    expect(await stream.message()).toBe(updated('1', URI));
    await post({ kind: 'ResourceUpdated', uri: URI });
    expect(await stream.message()).toBe(updated('1', URI));
  });
});

/** Arrays nested to this depth. */
function nested(depth: number): unknown[] {
  return depth === 1 ? [] : [nested(depth - 1)];
}

describe('a publisher', () => {
  test.each([
    ['no credentials', {}],
    ['another secret', { authorization: 'Bearer simsim' }],
    ['the beginning of the secret', { authorization: `Bearer ${SECRET.slice(0, -1)}` }],
    ['a scheme only', { authorization: 'Bearer' }],
    ['the secret under another scheme', { authorization: `Basic ${SECRET}` }],
    ['a malformed signature', { 'mcp-listen-timestamp': '1', 'mcp-listen-signature': SECRET }],
    [
      'the secret and a wrong signature',
      { ...BEARER, 'mcp-listen-signature': `v2=${'0'.repeat(64)}` },
    ],
  ])('with %s is refused', async (_what, headers) => {
    const before = await position();
    const response = await post(updateOf(), {
      'content-type': 'application/json',
      ...(headers as object),
    });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await response.json()).toMatchObject({ error: 'unauthorized' });
    expect(await position()).toBe(before);
  });

  test('may sign instead of sending the secret', async () => {
    const body = JSON.stringify(updateOf());
    const before = await position();
    expect(await responseOf(post(body, signedFields({ body })))).toEqual([
      200,
      { position: before + 1 },
    ]);
    expect((await responseOf(post(body, signedFields({ body, secret: 'simsim' }))))[0]).toBe(401);
    expect((await responseOf(post(`${body} `, signedFields({ body }))))[0]).toBe(401);
    const { 'mcp-listen-timestamp': _, ...timeless } = signedFields({ body });
    expect((await responseOf(post(body, timeless)))[0]).toBe(401);
  });

  test.each([
    [-290, 200],
    [290, 200],
    [-330, 401],
    [330, 401],
  ])('with a signature of %d seconds ago gets %d', async (ago, status) => {
    const body = JSON.stringify(updateOf(`note://${ago}`));
    const [got, { error }] = await responseOf(post(body, signedFields({ body, agoSeconds: ago })));
    expect([got, error]).toEqual([status, status === 401 ? 'stale-timestamp' : undefined]);
  });

  test('of one tenant cannot publish to another tenant', async () => {
    const stream = await fixture().subscribe(1, { resourceSubscriptions: [URI] });
    await stream.message();
    const headers = { ...BEARER, authorization: `Bearer ${SECRET}-acme`, 'x-tenant': 'acme' };
    expect(await responseOf(post(updateOf(), headers))).toEqual([200, { position: 1 }]);
    expect((await responseOf(post(updateOf(), { ...headers, 'x-tenant': 'other' })))[0]).toBe(401);
    expect((await responseOf(post(updateOf(), { ...headers, 'x-tenant': 'mcp-listen' })))[0]).toBe(
      401,
    );
    for (const name of ['', 'acme/shard-1', 'a'.repeat(257)]) {
      expect(await responseOf(post(updateOf(), { ...headers, 'x-tenant': name }))).toMatchObject([
        401,
        { error: 'unauthorized' },
      ]);
    }
    await fixture().publish(0, updateOf());
    expect(await stream.message()).toBe(updated('1', URI));
    expect(await position()).toBeGreaterThan(0);
  });
});

describe('a repeated idempotency key', () => {
  const keyed = (key: string) => ({ ...BEARER, 'idempotency-key': key });

  test('gets the same position, and publishes nothing', async () => {
    const before = await position();
    const batch = [updateOf('note://a'), updateOf('note://b')];
    const responses = await Promise.all([
      responseOf(post(batch, keyed('one'))),
      responseOf(post(batch, keyed('one'))),
    ]);
    responses.push(await responseOf(post(batch, keyed('one'))));
    const first = { position: before + 2, positions: [before + 1, before + 2] };
    expect(responses).toEqual([200, 200, 200].map((status) => [status, first]));
    expect(await position()).toBe(before + 2);
  });

  test('is known after a reset of the bus', async () => {
    const [, first] = await responseOf(post(updateOf(), keyed('kept')));
    await fixture().post(0, '/bus/reset');
    expect(await responseOf(post(updateOf(), keyed('kept')))).toEqual([200, first]);
  });

  test('is refused with other events', async () => {
    await post(updateOf(), keyed('other'));
    const before = await position();
    expect(await responseOf(post(updateOf('note://x'), keyed('other')))).toMatchObject([
      422,
      { error: 'idempotency-key-reused' },
    ]);
    expect(await position()).toBe(before);
  });

  test('is new again after idempotencyKeys others', async () => {
    const [, first] = await responseOf(post(updateOf(), keyed('1')));
    for (const key of ['2', '3']) await post(updateOf(), keyed(key));
    expect(await responseOf(post(updateOf(), keyed('1')))).toEqual([200, first]);
    await post(updateOf(), keyed('4'));
    const [, again] = await responseOf(post(updateOf(), keyed('1')));
    expect(again['position']).toBe((first['position'] as number) + 4);
  });

  test('is refused if it is malformed', async () => {
    for (const key of ['a'.repeat(257), 'two words']) {
      expect(await responseOf(post(updateOf(), keyed(key)))).toMatchObject([
        400,
        { error: 'invalid-idempotency-key' },
      ]);
    }
    for (const length of [1, 255, 256]) {
      expect((await responseOf(post(updateOf(), keyed('a'.repeat(length)))))[0]).toBe(200);
    }
  });

  test('is not needed by a signed request, which publishes nothing when it is repeated', async () => {
    const body = JSON.stringify(updateOf('note://signed'));
    const headers = signedFields({ body });
    const [, first] = await responseOf(post(body, headers));
    expect(await responseOf(post(body, headers))).toEqual([200, first]);
    const digits = headers['mcp-listen-signature']?.slice(3).toUpperCase();
    expect(
      await responseOf(post(body, { ...headers, 'mcp-listen-signature': `v2=${digits}` })),
    ).toEqual([200, first]);
  });

  test('publishes nothing in a request with a new signature', async () => {
    const body = JSON.stringify(updateOf('note://signed'));
    const [, first] = await responseOf(post(body, signedFields({ body, key: 'signed' })));
    expect(
      await responseOf(post(body, signedFields({ body, key: 'signed', agoSeconds: 5 }))),
    ).toEqual([200, first]);
    expect(await responseOf(post(body, keyed('signed')))).toEqual([200, first]);
  });
});

describe('a body', () => {
  test.each([
    [65_535, 200],
    [65_536, 200],
    [65_537, 413],
  ])('of %d bytes gets %d', async (bytes, status) => {
    const body = JSON.stringify(updateOf());
    const padded = body + ' '.repeat(bytes - body.length);
    expect((await responseOf(post(padded)))[0]).toBe(status);
    // The same without a content-length.
    const parts = new Blob([padded]).stream();
    const init = { method: 'POST', headers: BEARER, body: parts, duplex: 'half' } as RequestInit;
    expect((await fixture().request(0, '/endpoint', init)).status).toBe(status);
    expect((await responseOf(post(padded, signedFields({ body: padded }))))[0]).toBe(status);
  });

  test.each<[string, number, (size: number) => object]>([
    [
      'a URI of %d bytes',
      2_048,
      (bytes) => updateOf(`${'ä'.repeat(512)}${'x'.repeat(bytes - 1_024)}`),
    ],
    ['a group of %d bytes', 2_048, (bytes) => ({ ...updateOf(), group: 'x'.repeat(bytes) })],
    ['a depth of %d', 64, (depth) => ({ ...updateOf(), x: nested(depth - 1) })],
  ])('with %s is accepted up to the limit', async (_what, limit, bodyOf) => {
    for (const beyond of [-1, 0])
      expect((await responseOf(post(bodyOf(limit + beyond))))[0]).toBe(200);
    expect((await responseOf(post(bodyOf(limit + 1))))[0]).toBe(400);
  });

  test.each([
    ['no bytes', '', 'malformed-body', undefined],
    ['malformed JSON', '{', 'malformed-body', undefined],
    ['a duplicate key', '{"kind":"tools_list_changed","kind":"x"}', 'malformed-body', undefined],
    ['no events', [], 'no-events', undefined],
    ['an unknown kind', { kind: 'roots_list_changed' }, 'unknown-event-kind', 0],
    ['an empty URI', updateOf(''), 'invalid-uri', 0],
    ['a control character', updateOf('a\nb'), 'invalid-uri', 0],
    ['a URI of 2,049 bytes', updateOf(`${'ä'.repeat(1_024)}a`), 'invalid-uri', 0],
    ['a malformed event in a batch', [updateOf(), 7], 'malformed-event', 1],
    ['a task without a state', [updateOf(), { kind: 'task_status' }], 'invalid-task', 1],
    ['a disconnect', { kind: 'disconnect', principal: 'ann' }, 'disconnect-not-allowed', 0],
    [
      'a disconnect in a batch',
      [updateOf(), { kind: 'disconnect', principal: 'ann' }],
      'disconnect-not-allowed',
      1,
    ],
  ])('with %s is refused, and nothing is published', async (_what, body, error, index) => {
    const before = await position();
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error,
      message: expect.any(String),
      ...(index !== undefined && { index }),
    });
    expect(await position()).toBe(before);
  });
});

describe('the media type of a publish', () => {
  test.each([
    ['a missing type', { authorization: `Bearer ${SECRET}` }],
    ['plain text', { ...BEARER, 'content-type': 'text/plain' }],
    ['another charset', { ...BEARER, 'content-type': 'application/json; charset=utf-16' }],
    ['a compression', { ...BEARER, 'content-encoding': 'gzip' }],
  ])('is checked before credentials: %s is refused', async (_what, headers) => {
    expect(await responseOf(post(updateOf(), headers))).toMatchObject([
      415,
      { error: 'unsupported-media-type' },
    ]);
  });

  test('may name UTF-8', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      expect((await responseOf(post(updateOf(), { ...BEARER, 'content-type': type })))[0]).toBe(
        200,
      );
    }
  });
});

test('the publish endpoint accepts POST only', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
    const response = await fixture().request(0, '/endpoint', { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  }
});
