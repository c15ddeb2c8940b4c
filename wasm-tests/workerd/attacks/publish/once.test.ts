import { describe, expect, test } from 'vitest';
import { useFixture } from '../../../host/fixture/fixture.ts';
import { SECRET, type Signing, signedFields } from '../../../host/signing.ts';

const fixture = useFixture({ IDEMPOTENCY_KEYS: '3', SIGNED_PUBLISHES: '8' });
const TOOLS = JSON.stringify({ kind: 'tools_list_changed' });
const PROMPTS = JSON.stringify({ kind: 'prompts_list_changed' });

async function post(
  headers: Record<string, string>,
  bus: string,
  body = TOOLS,
): Promise<[number, unknown]> {
  const init = { method: 'POST', headers: { ...headers, 'x-tenant': bus }, body };
  const response = await fixture().request(0, '/endpoint', init);
  const { error, position } = (await response.json()) as { error?: string; position?: number };
  return [response.status, error ?? position];
}

function bearing(secret: string, key: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    authorization: `Bearer ${secret}`,
    'idempotency-key': key,
  };
}

function signedFor(bus: string, signing: Partial<Signing> = {}): Record<string, string> {
  return signedFields({ body: TOOLS, bus, secret: `${SECRET}-${bus}`, ...signing });
}

/** Publishes with as many other keys as a bus keeps. */
async function evict(bus: string): Promise<void> {
  for (const key of ['x', 'y', 'z']) await post(bearing(`${SECRET}-${bus}`, key), bus);
}

test('two publishers may use the same idempotency key', async () => {
  expect(await post(bearing(`${SECRET}-lists`, 'todo-44'), 'shared')).toEqual([200, 1]);
  expect(await post(bearing(`${SECRET}-shared`, 'todo-44'), 'shared', PROMPTS)).toEqual([200, 2]);
  expect(await post(bearing(`${SECRET}-lists`, 'todo-44'), 'shared')).toEqual([200, 1]);
  expect(await post(bearing(`${SECRET}-shared`, 'todo-44'), 'shared', PROMPTS)).toEqual([200, 2]);
});

test('the bearer and the signatures of a publisher share their idempotency keys', async () => {
  expect(await post(bearing(`${SECRET}-both`, 'k'), 'both')).toEqual([200, 1]);
  expect(await post(signedFor('both', { key: 'k' }), 'both')).toEqual([200, 1]);
});

describe('a captured retry', () => {
  test('publishes nothing after its idempotency key was forgotten', async () => {
    const retry = signedFor('retried', { key: 'k' });
    await post(signedFor('retried', { key: 'k', agoSeconds: 5 }), 'retried');
    expect(await post(retry, 'retried')).toEqual([200, 1]);
    await evict('retried');
    expect(await post(retry, 'retried')).toEqual([200, 1]);
  });

  test('with a reused key stays refused after the key was forgotten', async () => {
    const other = signedFor('reused', { key: 'k', body: PROMPTS });
    await post(signedFor('reused', { key: 'k' }), 'reused');
    expect(await post(other, 'reused', PROMPTS)).toEqual([422, 'idempotency-key-reused']);
    await evict('reused');
    expect(await post(other, 'reused', PROMPTS)).toEqual([422, 'idempotency-key-reused']);
  });

  test('is refused beyond signedPublishes, even if its key is known', async () => {
    // One moment for all: two requests of the same second are the same request.
    const at = Date.now();
    const signedAgo = (agoSeconds: number) => signedFor('crowded', { at, key: 'k', agoSeconds });
    for (let ago = 1; ago <= 8; ago += 1) {
      expect(await post(signedAgo(ago), 'crowded')).toEqual([200, 1]);
    }
    const refused = [503, 'too-many-signed-publishes'];
    expect(await post(signedAgo(0), 'crowded')).toEqual(refused);
    expect((await post(signedAgo(1), 'crowded'))[0]).toBe(200);
  });
});

test('a publish that the disk refuses does not change the positions', async () => {
  const before = await fixture().bus<{ position: number }>('stats');
  await fixture().post(1, '/bus/fail?inserts=1');
  expect((await fixture().post(1, '/bus/publish-all', `[${TOOLS},${TOOLS}]`)).status).toBe(400);
  const { status } = await fixture().post(1, '/bus/publish-all', `[${TOOLS}]`);
  const { position } = await fixture().bus<{ position: number }>('stats');
  expect([status, position]).toEqual([200, before.position + 1]);
});
