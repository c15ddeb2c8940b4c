import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { taskState } from '../../../host/listen.ts';
import { responseOf } from '../../../host/response.ts';
import { SECRET, signedFields } from '../../../host/signing.ts';
import { Drip } from '../../../host/wire/drip.ts';

const fixture = useFixture({ IDEMPOTENCY_KEYS: '3', IDEMPOTENCY_MS: '1', SIGNED_PUBLISHES: '8' });
const BODY = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
const JSON_TYPE = { 'content-type': 'application/json' };

function post(headers: Record<string, string>, body = BODY, path = '/endpoint'): Promise<Response> {
  return fixture().request(0, path, { method: 'POST', headers, body });
}

function bearing(secret = SECRET): Record<string, string> {
  return { ...JSON_TYPE, authorization: `Bearer ${secret}` };
}

function position(): Promise<number> {
  return fixture().position();
}

describe('a captured signature', () => {
  const twin = (bus: string) => ({
    ...signedFields({ body: BODY, bus, secret: `${SECRET}-twin` }),
    'x-tenant': bus,
  });

  test('does not publish to another tenant with the same secret', async () => {
    const headers = twin('twin-a');
    expect(await responseOf(post(headers))).toEqual([200, { position: 1 }]);
    expect((await post({ ...headers, 'x-tenant': 'twin-b' })).status).toBe(401);
    expect(await responseOf(post(twin('twin-b')))).toEqual([200, { position: 1 }]);
  });

  test('does not publish under another key, without its key, or as another method', async () => {
    const headers = signedFields({ body: BODY, key: 'one' });
    const { 'idempotency-key': _, ...keyless } = headers;
    expect((await post({ ...headers, 'idempotency-key': 'two' })).status).toBe(401);
    expect((await post(keyless)).status).toBe(401);
    expect((await post(signedFields({ body: BODY, method: 'PUT' }))).status).toBe(401);
    expect((await post(headers)).status).toBe(200);
  });

  test('of version 1 is refused without acceptV1', async () => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const digits = createHmac('sha256', SECRET).update(`${timestamp}.${BODY}`).digest('hex');
    const headers = {
      ...JSON_TYPE,
      'mcp-listen-timestamp': timestamp,
      'mcp-listen-signature': `v1=${digits}`,
    };
    expect((await post(headers)).status).toBe(401);
    expect((await post({ ...headers, 'mcp-listen-signature': `v2=${digits}` })).status).toBe(401);
    expect((await post(headers, BODY, '/endpoint-v1')).status).toBe(200);
  });

  test('publishes nothing again after many other publishes', async () => {
    const tenant = { 'x-tenant': 'busy' };
    const secret = `${SECRET}-busy`;
    const headers = { ...signedFields({ body: BODY, bus: 'busy', secret }), ...tenant };
    expect(await responseOf(post(headers))).toEqual([200, { position: 1 }]);
    for (let turn = 0; turn < 5; turn += 1) {
      await post({ ...bearing(secret), ...tenant, 'idempotency-key': `key-${turn}` });
    }
    expect(await responseOf(post(headers))).toEqual([200, { position: 1 }]);
    expect(await responseOf(post({ ...bearing(secret), ...tenant }))).toEqual([
      200,
      { position: 7 },
    ]);
  });

  test('is never forgotten: beyond signedPublishes a signed publish is refused', async () => {
    const secret = `${SECRET}-full`;
    const send = (turn: number) => {
      const body = JSON.stringify({ kind: 'resource_updated', uri: `note://${turn}` });
      return post({ ...signedFields({ body, bus: 'full', secret }), 'x-tenant': 'full' }, body);
    };
    for (let turn = 1; turn <= 8; turn += 1)
      expect(await responseOf(send(turn))).toEqual([200, { position: turn }]);
    const refused = await send(9);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
    expect(await refused.json()).toMatchObject({ error: 'too-many-signed-publishes' });
    // A bearer is still served.
    expect((await post({ ...bearing(secret), 'x-tenant': 'full' })).status).toBe(200);
  });
});

describe('a guesser', () => {
  const at = (address: string, secret: string) => ({ ...bearing(secret), 'x-address': address });

  test('is refused after 30 failures in a minute, and a correct secret is not', async () => {
    const guesses = Array.from({ length: 40 }, (_, turn) =>
      at('192.0.2.7', `guess-number-${turn}-of-many`),
    );
    const statuses: number[] = [];
    for (const headers of guesses) statuses.push((await post(headers)).status);
    expect(statuses).toEqual([...Array(30).fill(401), ...Array(10).fill(429)]);
    const refused = await post(at('192.0.2.7', 'one-more-guess-of-many'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await refused.json()).toMatchObject({ error: 'too-many-failures' });
    expect((await post(at('192.0.2.7', SECRET))).status).toBe(200);
    expect((await post(at('192.0.2.8', 'first-guess-from-here'))).status).toBe(401);
    expect((await post(at('192.0.2.8', SECRET))).status).toBe(200);
  });

  test('with many addresses of one IPv6 network counts as one caller', async () => {
    for (let turn = 0; turn < 30; turn += 1)
      await post(at(`2001:db8:1:2::${turn.toString(16)}`, 'not-the-secret-of-it'));
    expect((await post(at('2001:db8:1:2:ffff::1', 'not-the-secret-of-it'))).status).toBe(429);
    expect((await post(at('2001:db8:1:3::1', 'not-the-secret-of-it'))).status).toBe(401);
  });

  test('cannot find out which buses exist or have a secret', async () => {
    const responses: string[] = [];
    for (const tenant of ['unknown', 'secretless', 'acme', '', 'acme/shard-1', 'a'.repeat(257)]) {
      for (const headers of [
        bearing('not-the-secret-of-it'),
        signedFields({ body: BODY, secret: 'x' }),
        JSON_TYPE,
      ]) {
        const response = await post({ ...headers, 'x-tenant': tenant });
        const fields = [...response.headers].filter(([name]) => name !== 'date');
        responses.push(JSON.stringify([response.status, fields, await response.text()]));
      }
    }
    expect(new Set(responses).size).toBe(1);
    expect(responses[0]).toMatch(/^\[401,/);
  });
});

describe('a body', () => {
  test.each([
    [
      'a malformed signature',
      { 'mcp-listen-timestamp': '1', 'mcp-listen-signature': 'nonsense' },
      401,
    ],
    ['an old signature', signedFields({ body: BODY, agoSeconds: 330 }), 401],
    ['a signature of the future', signedFields({ body: BODY, agoSeconds: -330 }), 401],
    ['a wrong bearer', bearing('not-the-secret-of-it'), 401],
    ['a malformed key', { ...bearing(), 'idempotency-key': 'two words' }, 400],
    ['another media type', { 'content-type': 'text/plain' }, 415],
  ])('with %s is not read', async (_what, headers, status) => {
    expect(await statusOf({ ...JSON_TYPE, ...(headers as object) })).toBe(status);
  });

  test.each([
    ['a bearer', bearing()],
    ['a signature', signedFields({ body: BODY })],
  ])('that does not arrive is a 408, with %s', async (_what, headers) => {
    expect(await statusOf(headers)).toBe(408);
  });
});

describe('an endpoint', () => {
  test.each([
    ['a secret of 15 bytes', { secret: 'fifteen-bytes-x' }],
    ['a short secret', { publishers: JSON.stringify([{ secret: SECRET }, { secret: 'short' }]) }],
    ['a missing secret', { publishers: JSON.stringify([{}]) }],
    [
      'the same secret twice',
      { secret: SECRET, publishers: JSON.stringify([{ secret: SECRET, kinds: [] }]) },
    ],
    [
      'rights that are not a list',
      { publishers: JSON.stringify([{ secret: SECRET, kinds: 'tools_list_changed' }]) },
    ],
    [
      'an unknown kind',
      { publishers: JSON.stringify([{ secret: SECRET, kinds: ['tools_changed'] }]) },
    ],
  ])('cannot be made with %s', async (_what, options) => {
    const query = new URLSearchParams(options as Record<string, string>);
    const [, { code }] = await responseOf(post({}, '', `/endpoint-with?${query}`));
    expect(code).toBe('invalid-options');
  });

  test('may have a secret of 16 bytes', async () => {
    expect(await responseOf(post({}, '', '/endpoint-with?secret=sixteen-bytes-xx'))).toEqual([
      200,
      {},
    ]);
  });
});

describe('a publisher with narrowed rights', () => {
  const tools = { kind: 'tools_list_changed' };
  const note = (uri: string) => ({ kind: 'resource_updated', uri });
  const types = { kind: 'events_list_changed' };
  const task = { kind: 'task_status', task: taskState('t-1') };
  const group = (name: string, event: object = tools) => ({
    kind: 'for_group',
    group: name,
    event,
  });

  test.each<[string, string, object | object[], number, number?]>([
    ['a kind of its list', 'lists', [tools, { kind: 'prompts_list_changed' }], 200],
    ['a kind for a group', 'lists', group('acme'), 200],
    ['another kind', 'lists', [tools, note('note://acme/1')], 403, 1],
    ['another kind for a group', 'lists', group('acme', note('note://acme/1')), 403, 0],
    [
      'another kind, in the form of the notification',
      'lists',
      { method: 'notifications/resources/updated', params: note('x://y') },
      403,
      0,
    ],
    [
      'another kind, in the form of the Python SDK',
      'lists',
      { kind: 'ResourceUpdated', uri: 'x://y' },
      403,
      0,
    ],
    ['a change for another group', 'acme-only', { ...tools, group: 'acme-3' }, 403, 0],
    ['a URI below its prefix', 'notes', [note('note://acme/1'), note('näte://1')], 200],
    ['a URI beside its prefix', 'notes', [note('note://acme/1'), note('note://acme-evil')], 403, 1],
    ['a URI with other code points', 'notes', note('na\u0308te://1'), 403, 0],
    ['a URI in other case', 'notes', note('NOTE://acme/1'), 403, 0],
    ['a list, with prefixes only', 'notes', tools, 403, 0],
    ['a task, with prefixes only', 'notes', task, 403, 0],
    ['events for its groups', 'acme-only', [group('acme'), group('acme-2', note('x://y'))], 200],
    ['an event for another group', 'acme-only', [group('acme'), group('acme-3')], 403, 1],
    ['an event for all groups', 'acme-only', tools, 403, 0],
    ['a task for its group, without the kind', 'acme-only', group('acme', task), 403, 0],
    ['a task, with the kind', 'tasks', task, 200],
    ['a change of event types, with the kind', 'types', types, 200],
    ['a change of event types for its group', 'acme-only', group('acme', types), 200],
    ['a change of event types, without the kind', 'lists', types, 403, 0],
    ['a change of event types, with prefixes only', 'notes', types, 403, 0],
    ['any event, with an empty list', 'nothing', tools, 403, 0],
  ])('publishes %s (%s), or is refused', async (_what, name, events, status, index) => {
    const before = await position();
    const [got, body] = await responseOf(
      post(bearing(`${SECRET}-${name}`), JSON.stringify(events)),
    );
    expect([got, body['error'], body['index']]).toEqual([
      status,
      status === 403 ? 'not-allowed' : undefined,
      index,
    ]);
    const published = status === 200 ? [events].flat().length : 0;
    expect(await position()).toBe(before + published);
  });

  test('has the same rights with a signature', async () => {
    const body = JSON.stringify(note('note://todo'));
    const [status, { error }] = await responseOf(
      post(signedFields({ body, secret: `${SECRET}-lists` }), body),
    );
    expect([status, error]).toEqual([403, 'not-allowed']);
  });
});

test('a page of another origin cannot publish, even with the secret', async () => {
  const before = await position();
  expect((await post({ ...bearing(), origin: 'https://evil.example' })).status).toBe(403);
  expect(await position()).toBe(before);
});

/** Sends a request without its body; resolves with the status. */
async function statusOf(headers: Record<string, string>): Promise<number | undefined> {
  const drip = await Drip.begin(fixture().urlOf(0, '/endpoint'), headers, '');
  const status = await drip.status();
  drip.drop();
  return status;
}
