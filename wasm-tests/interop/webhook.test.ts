import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { createWebhookReceiver } from 'mcp-listen/webhook';
import { describe, expect, test } from 'vitest';
import { signatures } from '../../dist/webhook/signature.js';
import { python } from '../../scripts/setup/python.mjs';
import { delivery, eventOf, HOOK_SECRET, NEXT_SECRET, STRANGE_SECRET } from '../host/webhook.ts';

const BODY = JSON.stringify(eventOf('evt_1', { data: { name: 'Zoë 🛰' } }));

/** What the package standardwebhooks of PyPI makes of a message. */
async function asked(question: object): Promise<{ signature: string; verified?: boolean }> {
  const program = spawn(python, [`${import.meta.dirname}/standard_webhooks.py`]);
  program.stdin.end(JSON.stringify(question));
  const [output, complaints] = await Promise.all([text(program.stdout), text(program.stderr)]);
  expect(complaints).toBe('');
  return JSON.parse(output);
}

describe('the package standardwebhooks of PyPI', () => {
  const now = Math.floor(Date.now() / 1_000);
  const message = { id: 'evt_1', timestamp: now, body: BODY };

  test('verifies each of the signatures that we write, and no other', async () => {
    const field = await signatures([NEXT_SECRET, HOOK_SECRET], {
      ...{ id: 'evt_1', timestamp: String(now) },
      body: new TextEncoder().encode(BODY),
    });
    for (const [secret, verified] of [
      [HOOK_SECRET, true],
      [NEXT_SECRET, true],
      [STRANGE_SECRET, false],
    ])
      expect(await asked({ ...message, secret, signatures: field })).toMatchObject({ verified });
  });

  test('signs what our receiver accepts', async () => {
    const { signature } = await asked({ ...message, secret: HOOK_SECRET });
    const events: unknown[] = [];
    const receiver = createWebhookReceiver({
      secrets: HOOK_SECRET,
      onEvent: (event) => events.push(event.data),
      ...{ onGap: () => {}, onTerminated: () => {} },
    });
    const headers = { 'webhook-signature': signature, 'webhook-timestamp': String(now) };
    expect((await receiver.fetch(delivery(BODY, { headers }))).status).toBe(204);
    expect(events).toEqual([{ name: 'Zoë 🛰' }]);
  });
});
