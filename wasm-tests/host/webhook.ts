import { Webhook } from 'standardwebhooks';

/** The secret of the test subscription, from the test vector of Standard Webhooks. */
export const HOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** Two further secrets. */
export const NEXT_SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
export const STRANGE_SECRET = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;

/** How a server signs and sends a delivery. */
export interface Posting {
  /** The signing secrets, in order. */
  secrets?: string[];
  id?: string;
  /** Null leaves out the header field. */
  subscription?: string | null;
  /** Seconds since the delivery was signed. */
  agoSeconds?: number;
  /** Header fields that replace others. */
  headers?: Record<string, string>;
  method?: string;
}

/** Makes an event in the form that a server posts. */
export function eventOf(eventId: string, members: object = {}) {
  return {
    eventId,
    name: 'order.paid',
    timestamp: '2026-11-22T10:00:00.5+01:00',
    data: { order: 7 },
    cursor: `after-${eventId}`,
    ...members,
  };
}

/** Makes a request that delivers a body, an object as JSON, signed by `standardwebhooks`. */
export function delivery(body: unknown, posting: Posting = {}): Request {
  const { agoSeconds = 0, method = 'POST', secrets = [HOOK_SECRET] } = posting;
  const { id = 'evt_1', subscription = 'sub_1' } = posting;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const at = new Date(Date.now() - agoSeconds * 1_000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, text)).join(' '),
    ...(subscription !== null && { 'x-mcp-subscription-id': subscription }),
    ...posting.headers,
  };
  const init = { method, headers };
  return new Request('https://app.example/hook', method === 'GET' ? init : { ...init, body: text });
}
