import { createWebhookReceiver, type ListenError } from 'mcp-listen/webhook';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  delivery,
  eventOf,
  HOOK_SECRET,
  NEXT_SECRET,
  type Posting,
  STRANGE_SECRET,
} from '../../host/webhook.ts';

beforeEach(
  () => void vi.useFakeTimers({ now: NOW, toFake: ['Date', 'setTimeout', 'clearTimeout'] }),
);
afterEach(() => void vi.useRealTimers());

const NOW = 1_800_000_000_000;
type Options = Partial<Parameters<typeof createWebhookReceiver>[0]>;

/** A receiver, and everything that reached its handlers. */
function receiving(options: Options = {}) {
  const handled: unknown[] = [];
  const errors: ListenError[] = [];
  const receiver = createWebhookReceiver({
    secrets: HOOK_SECRET,
    onEvent: (event) => handled.push(event),
    onGap: (gap) => handled.push({ gap }),
    onTerminated: (error) => handled.push({ terminated: error }),
    onError: (error) => errors.push(error),
    ...options,
  });
  const post = async (body: unknown, posting?: Posting) => {
    const response = await receiver.fetch(delivery(body, posting));
    const text = await response.text();
    return text === '' ? response.status : { status: response.status, ...JSON.parse(text) };
  };
  return { errors, handled, post, receiver };
}

function refused(status: number, error: string) {
  return { status, error, message: expect.any(String) };
}

describe('an event', () => {
  test('is passed on with its members, and gets 204', async () => {
    const { errors, handled, post } = receiving();
    expect(await post({ ...eventOf('evt_1'), _meta: {}, more: 1 })).toBe(204);
    expect(handled).toEqual([eventOf('evt_1')]);
    expect(errors).toEqual([]);
  });

  test('may have no cursor', async () => {
    const { handled, post } = receiving();
    const { cursor: _, ...event } = eventOf('evt_1');
    expect(await post(event)).toBe(204);
    expect(handled).toEqual([{ ...event, cursor: null }]);
  });

  test('comes with its subscription, its message id and what the host passed', async () => {
    const onEvent = vi.fn();
    const { receiver } = receiving({ onEvent });
    const request = delivery(eventOf('evt_1'), { id: 'msg_9', subscription: 'sub_9' });
    await receiver.fetch(request, 'env', 'ctx');
    const context = { messageId: 'msg_9', subscriptionId: 'sub_9', request, args: ['env', 'ctx'] };
    expect(onEvent).toHaveBeenCalledWith(eventOf('evt_1'), context);
  });

  test('gets a response once its handler has resolved', async () => {
    const done = Promise.withResolvers<void>();
    const onEvent = vi.fn(() => done.promise);
    const { post } = receiving({ onEvent });
    const pending = post(eventOf('evt_1'));
    await expect.poll(() => onEvent).toHaveBeenCalled();
    expect(await Promise.race([pending, soon('none yet')])).toBe('none yet');
    done.resolve();
    expect(await pending).toBe(204);
  });

  test('whose handler fails gets 500 and is handled when it comes again', async () => {
    const onEvent = vi.fn().mockRejectedValueOnce(new Error('no room'));
    const { errors, post } = receiving({ onEvent });
    expect(await post(eventOf('evt_1'))).toEqual(refused(500, 'handler-failed'));
    expect(errors).toMatchObject([{ code: 'handler-failed', cause: new Error('no room') }]);
    expect(await post(eventOf('evt_1'))).toBe(204);
    expect(onEvent).toHaveBeenCalledTimes(2);
  });
});

describe('a repeated event', () => {
  test('is acknowledged and not handled again', async () => {
    const { handled, post } = receiving();
    expect(await post(eventOf('evt_1'))).toBe(204);
    expect(await post(eventOf('evt_1'), { id: 'msg_other', agoSeconds: 5 })).toBe(204);
    expect(handled).toHaveLength(1);
  });

  test('of another subscription is handled', async () => {
    const { handled, post } = receiving();
    await post(eventOf('evt_1'), { subscription: 'sub_1' });
    await post(eventOf('evt_1'), { subscription: 'sub_2' });
    expect(handled).toHaveLength(2);
  });

  test('gets 503 while it is being handled, for a minute at most', async () => {
    const onEvent = vi.fn(() => new Promise<void>(() => {}));
    const { post } = receiving({ onEvent });
    void post(eventOf('evt_1'));
    await expect.poll(() => onEvent).toHaveBeenCalledTimes(1);
    expect(await post(eventOf('evt_1'))).toEqual(refused(503, 'being-handled'));
    await vi.advanceTimersByTimeAsync(60_000);
    void post(eventOf('evt_1'));
    await expect.poll(() => onEvent).toHaveBeenCalledTimes(2);
  });

  test('is forgotten after 10,000 others', async () => {
    const { handled, post } = receiving();
    const events = Array.from({ length: 10_001 }, (_, count) => eventOf(`evt_${count}`));
    for (const event of events.splice(0, 2)) await post(event);
    while (events.length > 0) await Promise.all(events.splice(0, 100).map((event) => post(event)));
    await post(eventOf('evt_1'));
    expect(handled).toHaveLength(10_001);
    await post(eventOf('evt_0'));
    expect(handled).toHaveLength(10_002);
  }, 60_000);

  test('is found in a store of the application', async () => {
    const seen = new Set<string>();
    expect(await receiving({ seen }).post(eventOf('evt_1'))).toBe(204);
    const { handled, post } = receiving({ seen });
    expect(await post(eventOf('evt_1'))).toBe(204);
    expect(handled).toEqual([]);
    expect([...seen]).toEqual(['["sub_1","evt_1"]']);
  });

  test('gets 503 if the store cannot be read, and 204 if it cannot be written', async () => {
    const down = () => Promise.reject(new Error('down'));
    const unread = receiving({ seen: { has: down, add: () => {} } });
    expect(await unread.post(eventOf('evt_1'))).toEqual(refused(503, 'unavailable'));
    const unwritten = receiving({ seen: { has: () => false, add: down } });
    expect(await unwritten.post(eventOf('evt_1'))).toBe(204);
    for (const { errors } of [unread, unwritten])
      expect(errors).toMatchObject([{ code: 'handler-failed', cause: new Error('down') }]);
  });
});

describe('a verification', () => {
  const verification = { type: 'verification', challenge: 'abc' };

  test('gets its challenge', async () => {
    const { handled, post } = receiving();
    expect(await post(verification, { subscription: null })).toEqual({
      status: 200,
      challenge: 'abc',
    });
    expect(handled).toEqual([]);
  });

  test('gets a response for a pending secret; every other message gets 503', async () => {
    const secrets = vi.fn(() => ({ active: HOOK_SECRET, pending: [STRANGE_SECRET, NEXT_SECRET] }));
    const { handled, post, receiver } = receiving({ secrets });
    const posting = { secrets: [NEXT_SECRET], subscription: 'sub_new' };
    expect(await post(verification, posting)).toEqual({ status: 200, challenge: 'abc' });
    for (const body of [eventOf('evt_1'), { type: 'gap', cursor: 'c' }])
      expect(await post(body, posting)).toEqual(refused(503, 'subscription-pending'));
    const { headers } = await receiver.fetch(delivery(eventOf('evt_1'), posting));
    expect(headers.get('retry-after')).toBe('5');
    expect(secrets).toHaveBeenCalledWith('sub_new', expect.any(Request));
    expect(handled).toEqual([]);
  });

  test('with a wrong signature gets no response', async () => {
    const { post } = receiving();
    expect(await post(verification, { secrets: [STRANGE_SECRET] })).toEqual(
      refused(401, 'unauthorized'),
    );
  });
});

describe('secrets', () => {
  test('may be several, of which one has to match one of several signatures', async () => {
    const { post } = receiving({ secrets: [STRANGE_SECRET, NEXT_SECRET] });
    expect(await post(eventOf('evt_1'), { secrets: [HOOK_SECRET, NEXT_SECRET] })).toBe(204);
    expect(await post(eventOf('evt_2'), { secrets: [HOOK_SECRET] })).toEqual(
      refused(401, 'unauthorized'),
    );
  });

  test('of a subscription are found by its id', async () => {
    const secrets = async (id: string | undefined) => (id === 'sub_1' ? HOOK_SECRET : undefined);
    const { post } = receiving({ secrets });
    expect(await post(eventOf('evt_1'))).toBe(204);
    expect(await post(eventOf('evt_2'), { subscription: 'sub_2' })).toEqual(
      refused(401, 'unauthorized'),
    );
  });

  test('that cannot be found make a 503', async () => {
    const { errors, post } = receiving({ secrets: () => Promise.reject(new Error('down')) });
    expect(await post(eventOf('evt_1'))).toEqual(refused(503, 'unavailable'));
    expect(errors).toMatchObject([{ code: 'handler-failed', cause: new Error('down') }]);
  });

  test('that are malformed are an error which does not show them', async () => {
    for (const secrets of ['whsec_short', [HOOK_SECRET, ''], { pending: 'whsec_short' }])
      expect(() => receiving({ secrets })).toThrow(
        expect.objectContaining({
          code: 'invalid-options',
          message: expect.not.stringContaining('short'),
        }),
      );
    for (const secrets of [[], {}])
      expect(() => receiving({ secrets })).toThrow('secrets must name a secret');
    const { errors, post } = receiving({ secrets: () => 'whsec_short' });
    expect(await post(eventOf('evt_1'))).toEqual(refused(503, 'unavailable'));
    expect(errors).toMatchObject([{ cause: { code: 'invalid-options' } }]);
  });
});

describe('a gap', () => {
  test('is passed on once', async () => {
    const { handled, post } = receiving();
    for (let count = 0; count < 2; count += 1)
      expect(await post({ type: 'gap', cursor: 'c9' }, { id: 'msg_gap_1' })).toBe(204);
    expect(handled).toEqual([{ gap: { cursor: 'c9' } }]);
  });

  test('whose handler fails comes again', async () => {
    const onGap = vi.fn().mockRejectedValueOnce(new Error('later'));
    const { post } = receiving({ onGap });
    expect(await post({ type: 'gap', cursor: null })).toEqual(refused(500, 'handler-failed'));
    expect(await post({ type: 'gap', cursor: null })).toBe(204);
  });
});

describe('a termination', () => {
  test.each([
    [-32_602, -32_602, 'invalid-params'],
    [-32_023, -32_011, 'not-found'],
    [-32_024, -32_012, 'forbidden'],
    [-32_025, -32_013, 'resource-exhausted'],
    [-32_026, -32_014, 'unsupported'],
    [-32_027, -32_015, 'callback-endpoint-error'],
    [-32_603, -32_603, 'internal-error'],
    [-32_000, 7, 'unknown'],
  ])('with %i or %i is %s', async (sep, sketch, code) => {
    const { handled, post } = receiving();
    for (const [id, rpcCode] of [
      ['msg_1', sep],
      ['msg_2', sketch],
    ] as const) {
      const error = { code: rpcCode, message: 'over', data: { reason: 'r' } };
      expect(await post({ type: 'terminated', error }, { id })).toBe(204);
    }
    expect(handled).toEqual(
      [sep, sketch].map((rpcCode) => ({
        terminated: { code, rpcCode, message: 'over', data: { reason: 'r' } },
      })),
    );
  });
});

describe('a request gets', () => {
  test('405 with any method but POST', async () => {
    const { receiver } = receiving();
    const response = await receiver.fetch(delivery('', { method: 'GET' }));
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test.each([
    ['no id', { 'webhook-id': '' }],
    ['an id with other characters', { 'webhook-id': 'evt 1' }],
    ['no timestamp', { 'webhook-timestamp': '' }],
    ['a timestamp that is no number of seconds', { 'webhook-timestamp': '1.8e9' }],
    ['no signature', { 'webhook-signature': '' }],
  ])('401 with %s', async (_, headers) => {
    expect(await receiving().post(eventOf('evt_1'), { headers })).toEqual(
      refused(401, 'unauthorized'),
    );
  });

  test('401 with a timestamp more than 300 seconds off, either way', async () => {
    const { post } = receiving();
    for (const agoSeconds of [301, -301])
      expect(await post(eventOf('evt_1'), { agoSeconds })).toEqual(refused(401, 'stale-timestamp'));
    for (const agoSeconds of [300, -300])
      expect(await post(eventOf(`evt_${agoSeconds}`), { agoSeconds })).toBe(204);
    const strict = receiving({ toleranceMs: 1_000 });
    expect(await strict.post(eventOf('evt_1'), { agoSeconds: 2 })).toEqual(
      refused(401, 'stale-timestamp'),
    );
  });

  test('413 with a body of more bytes than maxRequestBodySize, announced or not', async () => {
    const { post, receiver } = receiving({ maxRequestBodySize: 1_000 });
    const body = (size: number) => `${JSON.stringify(eventOf('evt_1'))}`.padEnd(size);
    expect(await post(body(1_000))).toBe(204);
    expect(await post(body(1_001))).toEqual(refused(413, 'body-too-large'));
    expect(await post('{}', { headers: { 'content-length': '1001' } })).toEqual(
      refused(413, 'body-too-large'),
    );
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(100));
      },
    });
    const request = new Request(delivery('{}'), { body: endless, duplex: 'half' } as RequestInit);
    expect((await receiver.fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(20);
  });

  test('408 with a body that takes longer than ten seconds', async () => {
    const { receiver } = receiving();
    const body = new ReadableStream({});
    const request = new Request(delivery('{}'), { body, duplex: 'half' } as RequestInit);
    const pending = receiver.fetch(request);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await pending).status).toBe(408);
  });
});

describe('a signed message gets', () => {
  test.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['an unknown type', { type: 'other' }],
    ['a verification without a challenge', { type: 'verification' }],
    ['a gap without a cursor', { type: 'gap', cursor: 7 }],
    ['a termination without a code', { type: 'terminated', error: { message: 'x' } }],
    ['an event without an id', eventOf('')],
    ['an event whose time is none', eventOf('evt_1', { timestamp: 'soon' })],
    ['an event whose data is no object', eventOf('evt_1', { data: [] })],
    ['an event whose cursor is a number', eventOf('evt_1', { cursor: 7 })],
  ])('400 if it is %s, and onError is called', async (_, body) => {
    const { errors, handled, post } = receiving();
    expect(await post(body)).toEqual(refused(400, 'malformed-message'));
    expect(errors).toMatchObject([{ code: 'malformed-event' }]);
    expect(handled).toEqual([]);
  });

  test('400 with an event without a subscription', async () => {
    expect(await receiving().post(eventOf('evt_1'), { subscription: null })).toEqual(
      refused(400, 'malformed-message'),
    );
  });

  test('a response even if onError throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const onError = () => {
      throw new Error('cannot report');
    };
    const { post } = receiving({ onError });
    expect(await post('{')).toEqual(refused(400, 'malformed-message'));
  });
});

/** Resolves with a value after everything that is under way had time to settle. */
async function soon<T>(value: T): Promise<T> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return value;
}

test('numbers that make no sense are invalid options', () => {
  for (const options of [{ maxRequestBodySize: -1 }, { toleranceMs: Number.NaN }])
    expect(() => receiving(options)).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});
