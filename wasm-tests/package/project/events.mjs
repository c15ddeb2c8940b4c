// Receives one event by webhook, and one by poll, as on every host.
import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { watchEvents } from 'mcp-listen/client';
import { createWebhookReceiver, generateWebhookSecret } from 'mcp-listen/webhook';

const secret = generateWebhookSecret();
const body = JSON.stringify(occurrence('by webhook'));

const receiver = createWebhookReceiver({
  secrets: secret,
  onEvent: ({ eventId }) => console.log(eventId),
  onGap: () => {},
  onTerminated: () => {},
});

const request = () =>
  new Request('https://app.example/hook', { method: 'POST', headers: signed(), body });
console.log((await receiver.fetch(request())).status, (await receiver.fetch(request())).status);

const watching = watchEvents('https://mcp.example/mcp', {
  name: 'order.paid',
  mode: 'poll',
  onEvent: async ({ eventId }) => {
    console.log(eventId);
    await watching.close();
  },
  onGap: () => {},
  onTerminated: () => {},
  onError: (error) => console.log(error.code),
  fetch: async (polled) => {
    const { id } = await polled.json();
    const result = { events: [occurrence('by poll')], cursor: 'c', truncated: false };
    return Response.json({ jsonrpc: '2.0', id, result });
  },
});
await watching.stopped;
console.log(watching.state);

function occurrence(eventId) {
  return { eventId, name: 'order.paid', timestamp: new Date().toISOString(), data: {} };
}

function signed() {
  const timestamp = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const digest = createHmac('sha256', key).update(`evt_1.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${digest}`,
    'x-mcp-subscription-id': 'sub_1',
  };
}
