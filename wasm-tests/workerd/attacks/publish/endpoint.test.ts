import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { taskState } from '../../../host/listen.ts';
import { SECRET, signedFields } from '../../../host/signing.ts';

const fixture = useFixture({ IDEMPOTENCY_KEYS: '3', IDEMPOTENCY_MS: '1', SIGNED_PUBLISHES: '8' });
const BODY = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
const JSON_TYPE = { 'content-type': 'application/json' };

function post(headers: Record<string, string>, body = BODY, path = '/endpoint'): Promise<Response> {
  return fixture().request(0, path, { method: 'POST', headers, body });
}

async function answered(answer: Promise<Response>): Promise<[number, Record<string, unknown>]> {
  const response = await answer;
  return [response.status, (await response.json()) as Record<string, unknown>];
}

function bearing(secret = SECRET): Record<string, string> {
  return { ...JSON_TYPE, authorization: `Bearer ${secret}` };
}

async function position(): Promise<number> {
  return (await fixture().bus<{ position: number }>('stats')).position;
}

describe('a captured signature', () => {
  const twin = (bus: string) => ({
    ...signedFields({ body: BODY, bus, secret: `${SECRET}-twin` }),
    'x-tenant': bus,
  });

  test('does not publish to another tenant that has the same secret', async () => {
    const headers = twin('twin-a');
    expect(await answered(post(headers))).toEqual([200, { position: 1 }]);
    expect((await post({ ...headers, 'x-tenant': 'twin-b' })).status).toBe(401);
    expect(await answered(post(twin('twin-b')))).toEqual([200, { position: 1 }]);
  });

  test('does not publish under another key, without its key, or as another method', async () => {
    const headers = signedFields({ body: BODY, key: 'one' });
    const { 'idempotency-key': _, ...keyless } = headers;
    expect((await post({ ...headers, 'idempotency-key': 'two' })).status).toBe(401);
    expect((await post(keyless)).status).toBe(401);
    expect((await post(signedFields({ body: BODY, method: 'PUT' }))).status).toBe(401);
    expect((await post(headers)).status).toBe(200);
  });

  test('of the first version is refused, except where the option accepts it', async () => {
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

  test('publishes nothing again, however many publishes came since', async () => {
    const tenant = { 'x-tenant': 'busy' };
    const secret = `${SECRET}-busy`;
    const headers = { ...signedFields({ body: BODY, bus: 'busy', secret }), ...tenant };
    expect(await answered(post(headers))).toEqual([200, { position: 1 }]);
    for (let turn = 0; turn < 5; turn += 1) {
      await post({ ...bearing(secret), ...tenant, 'idempotency-key': `key-${turn}` });
    }
    expect(await answered(post(headers))).toEqual([200, { position: 1 }]);
    expect(await answered(post({ ...bearing(secret), ...tenant }))).toEqual([200, { position: 7 }]);
  });

  test('is not forgotten for new ones: beyond the bound a signed publish is refused', async () => {
    const secret = `${SECRET}-full`;
    const send = (turn: number) => {
      const body = JSON.stringify({ kind: 'resource_updated', uri: `note://${turn}` });
      return post({ ...signedFields({ body, bus: 'full', secret }), 'x-tenant': 'full' }, body);
    };
    for (let turn = 1; turn <= 8; turn += 1)
      expect(await answered(send(turn))).toEqual([200, { position: turn }]);
    const refused = await send(9);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
    expect(await refused.json()).toMatchObject({ error: 'too-many-signed-publishes' });
    // A bearer is still served: it has nothing to replay.
    expect((await post({ ...bearing(secret), 'x-tenant': 'full' })).status).toBe(200);
  });
});

describe('a guesser', () => {
  const at = (address: string, secret: string) => ({ ...bearing(secret), 'x-address': address });

  test('is refused after 30 failures in a minute, and publishers are not', async () => {
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

  test('of one network of IPv6 is one caller, whatever its addresses', async () => {
    for (let turn = 0; turn < 30; turn += 1)
      await post(at(`2001:db8:1:2::${turn.toString(16)}`, 'not-the-secret-of-it'));
    expect((await post(at('2001:db8:1:2:ffff::1', 'not-the-secret-of-it'))).status).toBe(429);
    expect((await post(at('2001:db8:1:3::1', 'not-the-secret-of-it'))).status).toBe(401);
  });

  test('learns nothing about which buses exist or have a secret', async () => {
    const answers: string[] = [];
    for (const tenant of ['unknown', 'secretless', 'acme', '', 'acme/shard-1', 'a'.repeat(257)]) {
      for (const headers of [
        bearing('not-the-secret-of-it'),
        signedFields({ body: BODY, secret: 'x' }),
        JSON_TYPE,
      ]) {
        const response = await post({ ...headers, 'x-tenant': tenant });
        const fields = [...response.headers].filter(([name]) => name !== 'date');
        answers.push(JSON.stringify([response.status, fields, await response.text()]));
      }
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^\[401,/);
  });
});

describe('a body', () => {
  test.each([
    [
      'whose signature is malformed',
      { 'mcp-listen-timestamp': '1', 'mcp-listen-signature': 'nonsense' },
      401,
    ],
    ['whose signature is too old', signedFields({ body: BODY, agoSeconds: 330 }), 401],
    ['whose signature is of the future', signedFields({ body: BODY, agoSeconds: -330 }), 401],
    ['whose bearer is wrong', bearing('not-the-secret-of-it'), 401],
    ['whose key is malformed', { ...bearing(), 'idempotency-key': 'two words' }, 400],
    ['of another type', { 'content-type': 'text/plain' }, 415],
  ])('%s is not read', async (_what, headers, status) => {
    expect(await statusOf({ ...JSON_TYPE, ...(headers as object) })).toBe(status);
  });

  test.each([
    ['a bearer', bearing()],
    ['a signature', signedFields({ body: BODY })],
  ])('that never comes is given up, with %s', async (_what, headers) => {
    expect(await statusOf(headers)).toBe(408);
  });
});

describe('a weak secret', () => {
  test.each([
    ['15 bytes', { secret: 'fifteen-bytes-x' }],
    ['one of several', { publishers: JSON.stringify([{ secret: SECRET }, { secret: 'short' }]) }],
    ['none', { publishers: JSON.stringify([{}]) }],
    [
      'the same twice',
      { secret: SECRET, publishers: JSON.stringify([{ secret: SECRET, kinds: [] }]) },
    ],
    [
      'rights that are no list',
      { publishers: JSON.stringify([{ secret: SECRET, kinds: 'tools_list_changed' }]) },
    ],
    [
      'a kind that there is not',
      { publishers: JSON.stringify([{ secret: SECRET, kinds: ['tools_changed'] }]) },
    ],
  ])('is refused when the endpoint is made: %s', async (_what, asked) => {
    const query = new URLSearchParams(asked as Record<string, string>);
    const [, { code }] = await answered(post({}, '', `/endpoint-with?${query}`));
    expect(code).toBe('invalid-options');
  });

  test('has less than 16 bytes', async () => {
    expect(await answered(post({}, '', '/endpoint-with?secret=sixteen-bytes-xx'))).toEqual([
      200,
      {},
    ]);
  });
});

describe('a publisher with narrowed rights', () => {
  const tools = { kind: 'tools_list_changed' };
  const note = (uri: string) => ({ kind: 'resource_updated', uri });
  const task = { kind: 'task_status', task: taskState('t-1') };
  const group = (name: string, event: object = tools) => ({
    kind: 'for_group',
    group: name,
    event,
  });

  test.each<[string, string, object | object[], number, number?]>([
    ['a kind that it has', 'lists', [tools, { kind: 'prompts_list_changed' }], 200],
    ['a kind for a group', 'lists', group('acme'), 200],
    ['another kind', 'lists', [tools, note('note://acme/1')], 403, 1],
    ['another kind for a group', 'lists', group('acme', note('note://acme/1')), 403, 0],
    [
      'another kind, in words of the protocol',
      'lists',
      { method: 'notifications/resources/updated', params: note('x://y') },
      403,
      0,
    ],
    [
      'another kind, as the Python SDK names it',
      'lists',
      { kind: 'ResourceUpdated', uri: 'x://y' },
      403,
      0,
    ],
    [
      'for another group, named beside the change',
      'acme-only',
      { ...tools, group: 'acme-3' },
      403,
      0,
    ],
    ['a URI below its prefix', 'notes', [note('note://acme/1'), note('näte://1')], 200],
    ['a URI beside its prefix', 'notes', [note('note://acme/1'), note('note://acme-evil')], 403, 1],
    ['a URI that only looks the same', 'notes', note('na\u0308te://1'), 403, 0],
    ['a URI in other case', 'notes', note('NOTE://acme/1'), 403, 0],
    ['a list, with prefixes alone', 'notes', tools, 403, 0],
    ['a task, with prefixes alone', 'notes', task, 403, 0],
    ['for its group', 'acme-only', [group('acme'), group('acme-2', note('x://y'))], 200],
    ['for another group', 'acme-only', [group('acme'), group('acme-3')], 403, 1],
    ['for everybody', 'acme-only', tools, 403, 0],
    ['a task for its group, without the kind', 'acme-only', group('acme', task), 403, 0],
    ['a task, with the kind', 'tasks', task, 200],
    ['anything, with an empty list', 'nothing', tools, 403, 0],
  ])('publishing %s (%s)', async (_what, name, events, status, index) => {
    const before = await position();
    const [answer, body] = await answered(
      post(bearing(`${SECRET}-${name}`), JSON.stringify(events)),
    );
    expect([answer, body['error'], body['index']]).toEqual([
      status,
      status === 403 ? 'not-allowed' : undefined,
      index,
    ]);
    const published = status === 200 ? [events].flat().length : 0;
    expect(await position()).toBe(before + published);
  });

  test('has them with a signature, too', async () => {
    const body = JSON.stringify(note('note://todo'));
    const [status, { error }] = await answered(
      post(signedFields({ body, secret: `${SECRET}-lists` }), body),
    );
    expect([status, error]).toEqual([403, 'not-allowed']);
  });
});

test('a page of another origin does not publish, even with the secret', async () => {
  const before = await position();
  expect((await post({ ...bearing(), origin: 'https://evil.example' })).status).toBe(403);
  expect(await position()).toBe(before);
});

/** Sends a request whose body never comes; resolves with the status of what answers it. */
async function statusOf(headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(fixture().mcp(0));
  const socket = connect(Number(port), hostname);
  const fields = Object.entries({
    host: hostname,
    'content-length': String(BODY.length),
    ...headers,
  });
  socket.write(
    `POST /endpoint HTTP/1.1\r\n${fields.map((field) => field.join(': ')).join('\r\n')}\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1.1 (\d+)/.exec(head.toString())?.[1]);
}
