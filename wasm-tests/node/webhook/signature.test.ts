import fc from 'fast-check';
import { generateWebhookSecret } from 'mcp-listen/webhook';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { bytesOfSecret } from '../../../dist/webhook/secret.js';
import { signatures, signer } from '../../../dist/webhook/signature.js';
import { HOOK_SECRET, NEXT_SECRET, STRANGE_SECRET } from '../../host/webhook.ts';

const VECTOR = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  body: bytes('{"test": 2432232314}'),
};
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

test('the vector of Standard Webhooks holds', async () => {
  expect(await signatures([HOOK_SECRET], VECTOR)).toBe(SIGNATURE);
  expect(await signer([HOOK_SECRET], VECTOR, SIGNATURE)).toBe(HOOK_SECRET);
});

test('the package standardwebhooks verifies each signature of any message', async () => {
  const ids = fc.string({ unit: fc.constantFrom(...'abcXYZ019_-'), minLength: 1 });
  await fc.assert(
    fc.asyncProperty(ids, fc.json(), async (id, text) => {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const secrets = [NEXT_SECRET, generateWebhookSecret()];
      const field = await signatures(secrets, { id, timestamp, body: bytes(text) });
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': field,
      };
      for (const secret of secrets)
        expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text));
    }),
  );
});

describe('the signer of a message', () => {
  test('is the first secret that made one of several signatures', async () => {
    const field = await signatures([HOOK_SECRET, NEXT_SECRET], VECTOR);
    expect(await signer([STRANGE_SECRET, NEXT_SECRET, HOOK_SECRET], VECTOR, field)).toBe(
      NEXT_SECRET,
    );
    expect(await signer([STRANGE_SECRET], VECTOR, field)).toBeUndefined();
    expect(await signer([], VECTOR, field)).toBeUndefined();
  });

  test.each([
    ['another id', { id: 'msg_other' }],
    ['another timestamp', { timestamp: '1614265331' }],
    ['another body', { body: bytes('{"test":2432232314}') }],
  ])('is not found for %s', async (_, change) => {
    expect(await signer([HOOK_SECRET], { ...VECTOR, ...change }, SIGNATURE)).toBeUndefined();
  });

  test.each([
    ['a version that is not known', SIGNATURE.replace('v1,', 'v1a,')],
    ['no version', SIGNATURE.replace('v1,', '')],
    ['the start of a digest', SIGNATURE.slice(0, -8)],
    ['more than a digest', `${SIGNATURE.slice(0, -1)}AAA=`],
    ['text that is not base64', 'v1,g0hM9SsE*OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
    ['nothing', ''],
  ])('is not found in %s, which hides no other signature', async (_, field) => {
    expect(await signer([HOOK_SECRET], VECTOR, field)).toBeUndefined();
    expect(await signer([HOOK_SECRET], VECTOR, `${field} ${SIGNATURE}`)).toBe(HOOK_SECRET);
  });
});

describe('a secret', () => {
  test('is 32 random bytes where it is generated', () => {
    const secrets = Array.from({ length: 20 }, generateWebhookSecret);
    expect(new Set(secrets).size).toBe(20);
    for (const secret of secrets) expect(bytesOfSecret(secret)).toHaveLength(32);
  });

  test.each([24, 25, 26, 64])('may have %i bytes, with and without padding', (length) => {
    const text = Buffer.alloc(length, 3).toString('base64');
    expect(bytesOfSecret(`whsec_${text}`)).toEqual(new Uint8Array(length).fill(3));
    expect(bytesOfSecret(`whsec_${text.replaceAll('=', '')}`)).toHaveLength(length);
  });

  test.each([
    ['23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['another prefix', HOOK_SECRET.replace('whsec_', 'whpk_')],
    ['base64url', `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`],
    ['spaces', `${HOOK_SECRET} `],
    ['nothing', ''],
  ])('may not have %s', (_, secret) => {
    expect(bytesOfSecret(secret)).toBeUndefined();
  });
});

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
