import { expect, onTestFinished, test, vi } from 'vitest';
import { WebhookObject } from '../../../dist/cloudflare/object/webhook-object.js';
import { type Deferred, deferred } from '../../../dist/timing/deferred.js';
import { alarmStorage } from './alarm-storage.ts';

type Parts = ConstructorParameters<typeof WebhookObject>;
type Maker = NonNullable<Parts[3]>;
type Host = Parameters<NonNullable<Maker['deliver']>>[0];

const REPLY = JSON.stringify({ epoch: 'e', head: 0, total: 0 });

/** The namespace of the objects, which is recognized by the name of its class. */
class DurableObjectNamespace {
  /** The replies that the calls of an object wait for. */
  readonly replies: Deferred<string>[] = [];

  idFromName(): object {
    return { equals: () => true };
  }

  getByName(): object {
    return {
      followWebhooks: () => {
        const reply = deferred<string>();
        this.replies.push(reply);
        return reply.promise;
      },
    };
  }
}

/** What an object gives its delivery, and what it has stored of what the bus follows. */
async function started() {
  let stored: { call: number; names: string } | undefined;
  const exec = (query: string, ...values: [number, string]) => {
    if (query.startsWith('INSERT OR REPLACE INTO webhook_followed'))
      stored = { call: values[0], names: values[1] };
    const isRead = query.startsWith('SELECT call, names FROM webhook_followed');
    return { toArray: () => (isRead && stored !== undefined ? [stored] : []) };
  };
  const storage = Object.assign(alarmStorage({ at: null }), { sql: { exec } });
  const ctx = { id: { name: 'bus/hooks-1' }, storage } as unknown as Parts[0];
  const namespace = new DurableObjectNamespace();
  let host: Host | undefined;
  const events = {
    deliver: (given: Host) => {
      host = given;
      return { subscribe: async () => '' };
    },
  } as unknown as Maker;
  const object = new WebhookObject(ctx, { namespace }, { bus: 'bus', object: 1 }, events);
  await object.subscribe('{}');
  const { replies } = namespace;
  const follow = (name: string): void => void host?.follow([name], 1);
  const followed = (): unknown => JSON.parse(stored?.names ?? '[]');
  return { follow, followed, replies };
}

test('a reply of the bus that arrives late does not undo a later call', async () => {
  const { follow, followed, replies } = await started();
  follow('a');
  follow('b');
  for (const reply of replies.toReversed()) {
    reply.resolve(REPLY);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([replies.length, followed()]).toEqual([2, ['b']]);
});

test('an object whose class delivers to no webhooks refuses each call, and reports that once', async () => {
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => reported.mockRestore());
  const sql = { exec: () => ({ toArray: () => [] }) };
  const storage = Object.assign(alarmStorage({ at: null }), { sql });
  const ctx = { id: { name: 'bus/hooks-1' }, storage } as unknown as Parts[0];
  const object = new WebhookObject(ctx, {}, { bus: 'bus', object: 1 }, undefined);
  const refusal = { error: { internal: 'webhooks' } };
  expect(JSON.parse(await object.subscribe('{}'))).toEqual(refusal);
  expect(JSON.parse(await object.unsubscribe('{}'))).toEqual(refusal);
  const error = expect.objectContaining({ code: 'events-unavailable' });
  expect(reported.mock.calls).toEqual([['mcp-listen:', error]]);
});
