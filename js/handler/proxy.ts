import { expectAmounts } from '../model/amount.js';
import { ListenError } from '../model/error.js';
import { patienceOf } from '../model/timeouts.js';
import { guarded, report } from '../observe/on-error.js';
import { deferred } from '../timing/deferred.js';
import { cloudflareIp, forwardedHeaders, forwardedUrl, withoutHops } from './forwarding.js';
import { askerOf } from './question.js';
import { unanswered } from './upstream-response.js';

/** How requests are forwarded. */
export interface ProxyOptions {
  /**
   * Milliseconds that the server behind may take to begin an answer. The client gets 504 after
   * that. 0 disables.
   *
   * @default 120_000
   */
  timeoutMs?: number;
  /**
   * Sends each request, for example over a service binding.
   *
   * @default globalThis.fetch
   */
  fetch?: (request: Request) => Promise<Response>;
  /**
   * Called with the error of every request that the server behind did not answer.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Returns the address of a request's client for `X-Forwarded-For`, or undefined if it is not
   * known.
   *
   * @default `CF-Connecting-IP` on Cloudflare, where `request.cf.colo` is set
   */
  clientIp?: (request: Request) => string | undefined;
}

/**
 * The handler that forwards each request to the one URL `upstream`, and nowhere else: a query is added, but for
 * parameters that `upstream` has itself, and a redirect is not followed. Bodies stream both ways, and a client that leaves ends the request upstream.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const server = createListenHandler(createProxy('https://mcp.example/mcp'), { advertise: 'all' });
 * ```
 */
export function createProxy(
  upstream: string | URL,
  options: ProxyOptions = {},
): (request: Request) => Promise<Response> {
  const {
    clientIp = cloudflareIp,
    fetch = (request) => globalThis.fetch(request),
    timeoutMs = 120_000,
  } = options;
  const onError = guarded(options.onError ?? report);
  const url = upstreamUrl(upstream);
  expectAmounts('', { timeoutMs });
  return async (request) => {
    try {
      return answered(
        await sent(
          fetch,
          forwarded(request, url, clientIp(askerOf(request))),
          request.signal,
          timeoutMs,
        ),
      );
    } catch (error) {
      // A client that has left is nobody's error, and hears no answer.
      if (!request.signal.aborted) onError(error as Error);
      return unanswered(error);
    }
  };
}

/**
 * The URL of a server behind.
 *
 * @throws ListenError `invalid-options`.
 */
export function upstreamUrl(upstream: string | URL): URL {
  const url = URL.canParse(String(upstream)) ? new URL(String(upstream)) : undefined;
  if (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === ''
  )
    return url;
  throw new ListenError(
    'invalid-options',
    'the upstream is no URL of http or https without a user',
  );
}

/** The request as the server behind gets it. */
function forwarded(
  request: Request,
  upstream: URL,
  clientIp: string | undefined,
): RequestInit & { url: URL } {
  const { body, method } = request;
  const headers = forwardedHeaders({ request, clientIp });
  const prefix = prefixOf(request);
  if (prefix !== '') headers.set('x-forwarded-prefix', prefix);
  const url = forwardedUrl(upstream, request);
  // Node takes a stream as a body only with `duplex`, which the type does not know.
  return { url, method, headers, body, redirect: 'manual', duplex: 'half' } as RequestInit & {
    url: URL;
  };
}

/** Returns what stands before `/mcp` in the path of a request: there are tenants that it names. */
function prefixOf({ url }: Request): string {
  const [, prefix = ''] = /^(?!\/\.well-known\/)(.*)\/mcp$/.exec(new URL(url).pathname) ?? [];
  return prefix;
}

async function sent(
  fetch: (request: Request) => Promise<Response>,
  { url, ...init }: RequestInit & { url: URL },
  client: AbortSignal,
  timeoutMs: number,
): Promise<Response> {
  const abort = new AbortController();
  const late = deferred<never>();
  const timer = setTimeout(() => {
    late.reject(new ListenError('upstream-timeout', 'the server behind did not answer in time'));
    abort.abort();
  }, patienceOf(timeoutMs));
  const signal = AbortSignal.any([client, abort.signal]);
  try {
    return await Promise.race([fetch(new Request(url, { ...init, signal })), late.promise]);
  } catch (cause) {
    if (cause instanceof ListenError) throw cause;
    throw new ListenError('upstream-unreachable', 'the server behind cannot be reached', { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** The answer as the client gets it. */
function answered(response: Response): Response {
  const { body, status, statusText } = response;
  if (status >= 300 && status < 400 && status !== 304) {
    void body?.cancel();
    throw new ListenError(
      'upstream-redirected',
      `the server behind redirects (${status}): name where it is`,
    );
  }
  const headers = withoutHops(response.headers);
  // The body that a runtime hands out is decoded.
  if (headers.has('content-encoding')) {
    for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  }
  return new Response(body, { status, statusText, headers });
}
