import type { WebhookSender } from 'mcp-listen/events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { endpoint } from '../../host/endpoint.ts';
import { elapsed, pass, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { serving } from './webhook-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** An error as hosts report it: its text may name the host, and mostly it has a code. */
function failure(message: string, code?: string): Error {
  return Object.assign(new Error(message), code !== undefined && { code });
}

const EXPIRED = failure('certificate has expired', 'CERT_HAS_EXPIRED');

describe.each([
  [
    'connection_refused',
    [
      failure('getaddrinfo ENOTFOUND certs.example', 'ENOTFOUND'),
      failure('connect ECONNREFUSED 192.0.2.7:443', 'ECONNREFUSED'),
      failure('Network connection lost.'),
    ],
  ],
  [
    'tls_error',
    [
      EXPIRED,
      failure('unable to verify', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
      failure('TLS peer certificate is not trusted'),
      new TypeError('fetch failed', { cause: EXPIRED }),
    ],
  ],
  ['timeout', [failure('queryA ETIMEOUT slow.example', 'ETIMEOUT')]],
])('the reason of a refusal is %s', (reason, failures) => {
  test.each(failures)('after: $message', async (error) => {
    const send: WebhookSender = () => Promise.reject(error);
    const answer = await serving({ send }).subscribe('http://127.0.0.1:1/hook');
    expect(answer.error).toMatchObject({ data: { reason } });
  });
});

test('an endpoint that does not speak TLS is refused with tls_error', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const { error } = await serving().subscribe(hook.url.replace('http:', 'https:'));
  expect(error).toMatchObject({ data: { reason: 'tls_error' } });
});

test('an endpoint that does not respond in ten seconds is refused with timeout', async () => {
  const hook = await endpoint(HOOK_SECRET);
  hook.reply = () => 'never';
  const answer = serving().subscribe(hook.url);
  await until(() => hook.received.length === 1);
  await pass(10_000);
  expect((await answer).error).toMatchObject({ data: { reason: 'timeout' } });
});

test('a message beyond the requests of an invocation is not a failure of its endpoint', async () => {
  const beyond = new Error('Too many subrequests by single Worker invocation.');
  const attempts: number[] = [];
  const send: WebhookSender = async () => {
    attempts.push(Date.now());
    if (attempts.length === 1) throw beyond;
    return { status: 204, retryAfter: undefined, body: '' };
  };
  const origin = 'https://hooks.example.com';
  const { errors, publish, subscribe } = serving({ send, allowedOrigins: [origin] });
  await subscribe(`${origin}/hook`);
  await publish({}, 'one');
  await elapsed(() => attempts.length === 1);
  expect(errors).toEqual([beyond]);
  const { result } = await subscribe(`${origin}/hook`, { name: 'order.paid' });
  expect(result?.['deliveryStatus']).toEqual({ active: true, throttled: false, lastError: null });
  await elapsed(() => attempts.length === 2);
});
