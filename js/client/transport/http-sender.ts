import { isPage } from '../is-browser.js';
import type { ClientListenOptions } from '../options.js';
import type { Outgoing } from './core-source.js';
import type { HttpTarget, RequestFactory } from './target.js';

/** A request to send. */
export type SentRequest = Pick<Outgoing, 'method' | 'headers' | 'body'>;

/** The options that decide how requests are sent. */
export type SenderOptions = Pick<ClientListenOptions, 'fetch' | 'headers' | 'token'>;

/** Sends requests to the target, with credentials. */
export class HttpSender {
  readonly #request: RequestFactory;
  readonly #options: SenderOptions;

  constructor(target: HttpTarget, options: SenderOptions) {
    this.#options = options;
    // The `Request` of Node rejects a null body on GET; every host accepts a missing one.
    this.#request =
      typeof target === 'function'
        ? target
        : ({ body, ...parts }) =>
            new Request(target, { ...parts, ...(body !== null && { body }), ...bypassCache() });
  }

  /**
   * Returns the response. Retries once after a 401 if `token` is a function, which may return
   * another token.
   */
  async send({ method, headers, body }: SentRequest, signal: AbortSignal): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#options;
    const { redirect } = this;
    const parts = { method, body: body ?? null, signal, redirect };
    const request = async () => {
      const outgoing = await this.#request({ ...parts, headers: await this.#headers(headers) });
      // A factory of the caller may have set another redirect mode on its request.
      return redirect === 'manual' ? fetch(outgoing, { redirect }) : fetch(outgoing);
    };
    const response = await request();
    if (response.status !== 401 || typeof token !== 'function') return response;
    await response.body?.cancel();
    return request();
  }

  /**
   * `manual` if requests carry credentials: these must not reach another host, and the core treats
   * the redirect as the end.
   */
  get redirect(): 'follow' | 'manual' {
    const { headers, token } = this.#options;
    return headers === undefined && token === undefined ? 'follow' : 'manual';
  }

  async #headers(fields: SentRequest['headers']): Promise<Headers> {
    const { headers, token } = this.#options;
    const all = new Headers(headers);
    if (token !== undefined)
      all.set('Authorization', `Bearer ${typeof token === 'function' ? await token() : token}`);
    for (const [name, value] of fields) all.set(name, value);
    return all;
  }
}

/**
 * Bypasses the HTTP cache in pages: Chromium (156) may send a DELETE twice if its cache holds the
 * event stream of the same session. Other hosts have no such cache, and workerd before 2024-11-11
 * does not support the option.
 */
function bypassCache(): RequestInit {
  return isPage() ? { cache: 'no-store' } : {};
}
