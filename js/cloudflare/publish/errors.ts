/** The code of a refused publish in the response. */
export type PublishErrorCode = keyof typeof REFUSALS;

/** The problem of an invalid body. */
interface Problem {
  /** The code of the core; by default that of the refusal. */
  code?: string;
  message?: string;
  /** Index of the invalid event, from 0. */
  index: number | undefined;
}

/** A publish that is refused. */
export class PublishError extends Error {
  readonly #code: PublishErrorCode;
  readonly #problem: Problem | undefined;

  constructor(code: PublishErrorCode, problem?: Problem) {
    super(code);
    this.#code = code;
    this.#problem = problem;
  }

  /**
   * Returns the response: a status, a code, a message and, for an array, the index of the event.
   */
  response(): Response {
    const [status, text, headers = {}] = REFUSALS[this.#code] as ErrorResponse;
    const { code = this.#code, message = text, index } = this.#problem ?? {};
    return Response.json(
      { error: code, message, ...(index !== undefined && { index: index }) },
      { status, headers },
    );
  }
}

type ErrorResponse = [status: number, text: string, headers?: Record<string, string>];

const REFUSALS = {
  'method-not-allowed': [405, 'only POST is allowed', { Allow: 'POST' }],
  'unsupported-media-type': [415, 'Content-Type must be application/json in UTF-8'],
  'body-too-large': [413, 'the body is too large'],
  'invalid-idempotency-key': [400, 'Idempotency-Key must have 1 to 256 visible ASCII characters'],
  'too-many-failures': [429, 'too many publishes failed to authenticate', { 'Retry-After': '60' }],
  unauthorized: [401, 'the secret is missing or wrong', { 'WWW-Authenticate': 'Bearer' }],
  'stale-timestamp': [
    401,
    'the timestamp differs from the time here by more than 300 seconds',
    { 'WWW-Authenticate': 'Bearer' },
  ],
  'body-timeout': [408, 'the body did not arrive in time', { Connection: 'close' }],
  'no-events': [400, 'the body contains no events'],
  'not-allowed': [403, 'this publisher may not publish this event'],
  'idempotency-key-reused': [422, 'the key belongs to a publish of other events'],
  'too-many-bodies': [503, 'too many signed bodies are being read', { 'Retry-After': '1' }],
  'too-many-signed-publishes': [
    503,
    'the bus has reached its maximum of signed publishes',
    { 'Retry-After': '60' },
  ],
  'bus-unavailable': [503, 'the bus did not reply', { 'Retry-After': '1' }],
} satisfies Record<string, ErrorResponse>;
