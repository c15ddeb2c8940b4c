/** Why a request had no result. */
export type EndpointErrorCode =
  | 'no-address'
  | 'unreachable'
  | 'unauthorized'
  | 'refused'
  | 'unreadable';

/** A request that had no result. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  readonly code: EndpointErrorCode;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;

  constructor(code: EndpointErrorCode, message: string, { status = 0, ...options }: Details = {}) {
    super(message, options);
    this.code = code;
    this.status = status;
  }

  /** Whether the answer may come from a server of an earlier revision. */
  get mayBeOlder(): boolean {
    return this.status === 200 || [400, 404, 405, 406, 422].includes(this.status);
  }
}

interface Details extends ErrorOptions {
  status?: number;
}
