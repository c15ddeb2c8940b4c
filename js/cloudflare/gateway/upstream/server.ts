import { waitUntil } from 'cloudflare:workers';
import type { Denial } from '../../../auth/authorize.js';
import { checksOf, isOpenStream } from '../../../auth/open-stream.js';
import { rateLimited } from '../../../auth/outage.js';
import type { FetchHandler } from '../../../handler/handler.js';
import { clientRequestOf, onBehalfOf, serverRequest } from '../../../handler/server-request.js';
import type { ResponseLimits } from '../../../handler/upstream-response.js';
import { ListenError } from '../../../model/error.js';
import type { QuestionRequest } from '../../../wasm/server/bindings.js';
import type { Credentials } from '../../../web/credentials.js';

/** The upstream server of a gateway, for requests that check callers. */
export class UpstreamServer {
  readonly #handler: FetchHandler;
  readonly credentials: Credentials;
  readonly limits: ResponseLimits;
  readonly #maxChecks: number;

  /**
   * @param subrequests - maximum number of subrequests of the request that holds a stream.
   */
  constructor(
    handler: FetchHandler,
    credentials: Credentials,
    limits: ResponseLimits,
    subrequests = Number.POSITIVE_INFINITY,
  ) {
    this.#handler = handler;
    this.credentials = credentials;
    this.limits = limits;
    this.#maxChecks = subrequests * PART_FOR_CHECKS;
  }

  /**
   * Sends a request with the credentials of the caller of `request`. Returns a denial for 401, 403
   * and 429, and the response, with its body unread, for 2xx, 400, 404 and 405.
   *
   * @throws ListenError `upstream-unreachable` for 502, 503 and 504, and for 429 if the request is
   *   that of an open stream; `discover-failed` for every other status.
   */
  async send(request: Request, probe: QuestionRequest): Promise<Response | Denial> {
    this.#count(request);
    const response = await this.#handler(serverRequest(request, this.credentials, probe));
    const { headers, ok, status } = response;
    if (ok || UNSUPPORTED.includes(status)) return response;
    await response.body?.cancel();
    if (status === 401 || status === 403)
      return { denied: status, ...field('wwwAuthenticate', headers) };
    if (status === 429 && !isOpenStream(request))
      return { denied: 503, ...field('retryAfter', headers) };
    const code = UNREACHABLE.includes(status) ? 'upstream-unreachable' : 'discover-failed';
    const error = new ListenError(code, `the upstream server responded with status ${status}`);
    throw status === 429 ? rateLimited(error) : error;
  }

  /** Ends a session that a check opened. The calling request does not wait for it. */
  endSession(request: Request, session: string): void {
    const headers = this.credentials.of(request);
    headers.set('mcp-session-id', session);
    this.#count(request);
    const ending = onBehalfOf(request, new Request(request.url, { method: 'DELETE', headers }));
    // If this fails, the server ends the session itself once it is idle.
    waitUntil(this.#discard(ending).catch(() => {}));
  }

  /** Counts a subrequest, if the request that causes it holds a stream. */
  #count(request: Request): void {
    const checks = checksOf(clientRequestOf(request));
    if (checks === undefined) return;
    checks.requests += 1;
    checks.isExhausted = checks.requests >= this.#maxChecks;
  }

  async #discard(ending: Request): Promise<void> {
    const { body } = await this.#handler(ending);
    await body?.cancel();
  }
}

/** Whether the server denied the caller. */
export function isDenial(response: Response | Denial): response is Denial {
  return 'denied' in response;
}

function field(member: keyof typeof FIELDS, headers: Headers): Partial<Denial> {
  const value = headers.get(FIELDS[member]);
  return value === null ? {} : { [member]: value };
}

const FIELDS = { wwwAuthenticate: 'www-authenticate', retryAfter: 'retry-after' } as const;
/** The part of the subrequests for checks; others open the stream, and connect it to the bus. */
const PART_FOR_CHECKS = 0.75;
/** Statuses that servers return for a request of a revision that they do not support. */
const UNSUPPORTED = [400, 404, 405];
/** Statuses that do not say whether the server serves a caller. */
const UNREACHABLE = [429, 502, 503, 504];
