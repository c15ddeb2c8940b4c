/** Why a request to a receiver is refused. */
export type RefusalCode = keyof typeof REFUSALS;

/** A request that is refused. */
export class WebhookRefusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode) {
    super(code);
    this.code = code;
  }

  /** Returns the response: a status, a code and a fixed message. */
  response(): Response {
    const [status, message, headers = {}] = REFUSALS[this.code] as RefusalResponse;
    return Response.json({ error: this.code, message }, { status, headers });
  }
}

type RefusalResponse = [status: number, message: string, headers?: Record<string, string>];

const REFUSALS = {
  'malformed-message': [400, 'the body is neither an event nor a known message'],
  'invalid-data': [400, 'the data of the event is not valid'],
  unauthorized: [401, 'the signature is missing or wrong'],
  'stale-timestamp': [401, 'the timestamp differs too much from the time here'],
  'method-not-allowed': [405, 'only POST delivers messages', { Allow: 'POST' }],
  'body-timeout': [408, 'the body did not arrive in time', { Connection: 'close' }],
  'body-too-large': [413, 'the body is too large'],
  'handler-failed': [500, 'the message could not be handled'],
  'being-handled': [503, 'the message is being handled', { 'Retry-After': '5' }],
  'subscription-pending': [503, 'the subscription is not stored yet', { 'Retry-After': '5' }],
  unavailable: [503, 'the message cannot be checked now', { 'Retry-After': '5' }],
} satisfies Record<string, RefusalResponse>;
