import type { AnswerLimits } from '../answer.js';
import type { Denial } from '../authorize.js';
import type { Credentials } from '../credentials.js';
import { ListenError } from '../error.js';
import type { FetchHandler } from '../handler.js';
import { type Asked, questionFor } from '../question.js';

/** The server behind a gateway, as far as it is asked about callers. */
export class Behind {
  readonly #handler: FetchHandler;
  readonly credentials: Credentials;
  readonly limits: AnswerLimits;

  constructor(handler: FetchHandler, credentials: Credentials, limits: AnswerLimits) {
    this.#handler = handler;
    this.credentials = credentials;
    this.limits = limits;
  }

  /**
   * Asks with the credentials of the caller of `request`. Answers that say nothing about the caller by their status alone
   * (2xx, 400, 404, 405) have their body yet to be read; to all others it is a denial.
   *
   * @throws ListenError `discover-failed` where the server answers something that is neither a yes nor a no.
   */
  async ask(request: Request, asked: Asked): Promise<Response | Denial> {
    const answer = await this.#handler(questionFor(request, this.credentials, asked));
    const { headers, ok, status } = answer;
    if (ok || UNSPOKEN.includes(status)) return answer;
    await answer.body?.cancel();
    if (status === 401 || status === 403) return { denied: status, ...field('wwwAuthenticate', headers) };
    if (status === 429) return { denied: 503, ...field('retryAfter', headers) };
    throw new ListenError('discover-failed', `the server behind answered ${status}`);
  }

  /** Ends a session that a question began there. */
  async leave(request: Request, session: string): Promise<void> {
    const headers = this.credentials.of(request);
    headers.set('mcp-session-id', session);
    const answer = await this.#handler(new Request(request.url, { method: 'DELETE', headers, signal: request.signal }));
    await answer.body?.cancel();
  }
}

/** An answer that was a denial. */
export function isDenial(answer: Response | Denial): answer is Denial {
  return 'denied' in answer;
}

function field(member: keyof typeof FIELDS, headers: Headers): Partial<Denial> {
  const value = headers.get(FIELDS[member]);
  return value === null ? {} : { [member]: value };
}

const FIELDS = { wwwAuthenticate: 'www-authenticate', retryAfter: 'retry-after' } as const;
/** What servers answer that do not speak the revision of a question. */
const UNSPOKEN = [400, 404, 405];
