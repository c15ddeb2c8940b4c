import { isPage } from '../is-browser.js';
import type { ClientListenOptions } from '../options.js';
import type { Outgoing } from './core-source.js';
import type { HttpTarget, RequestFactory } from './target.js';

/** Sends the core's requests where they go, with what authorizes them. */
export class HttpSender {
  readonly #request: RequestFactory;
  readonly #options: ClientListenOptions;

  constructor(target: HttpTarget, options: ClientListenOptions) {
    this.#options = options;
    // A Request of Node wants no null for a body that is not there on GET; none minds leaving it out.
    this.#request =
      typeof target === 'function'
        ? target
        : ({ body, ...parts }) =>
            new Request(target, { ...parts, ...(body !== null && { body }), ...pastCache() });
  }

  /** The answer; a 401 is asked about once, where somebody can give another token. */
  async send({ method, headers, body }: Outgoing, signal: AbortSignal): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#options;
    const { redirect } = this;
    const parts = { method, body: body ?? null, signal, redirect };
    const request = async () => {
      const made = await this.#request({ ...parts, headers: await this.#headers(headers) });
      // What a function of the caller's has made may say something else.
      return redirect === 'manual' ? fetch(made, { redirect }) : fetch(made);
    };
    const response = await request();
    if (response.status !== 401 || typeof token !== 'function') return response;
    await response.body?.cancel();
    return request();
  }

  /** Credentials are for one place alone: with any of them no redirect is followed, and the core takes it for the end. */
  get redirect(): 'follow' | 'manual' {
    const { headers, token } = this.#options;
    return headers === undefined && token === undefined ? 'follow' : 'manual';
  }

  async #headers(fields: Outgoing['headers']): Promise<Headers> {
    const { headers, token } = this.#options;
    const all = new Headers(headers);
    if (token !== undefined)
      all.set('Authorization', `Bearer ${typeof token === 'function' ? await token() : token}`);
    for (const [name, value] of fields) all.set(name, value);
    return all;
  }
}

/**
 * A DELETE that Chromium (156) finds the stream of its session in the cache for, it may send twice. Hosts without such
 * a cache need not know of the option; workerd before 2024-11-11 does not.
 */
function pastCache(): RequestInit {
  return isPage() ? { cache: 'no-store' } : {};
}
