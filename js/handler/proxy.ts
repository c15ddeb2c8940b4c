import { expectAmounts } from '../model/amount.js';
import { ListenError } from '../model/error.js';
import { finiteTimeout } from '../model/timeouts.js';
import { report, safeOnError } from '../observe/on-error.js';
import { withTimeout } from '../timing/with-timeout.js';
import { cloudflareIp, forwardedHeaders, forwardedUrl, withoutHops } from './forwarding.js';
import { clientRequestOf } from './server-request.js';
import { failedResponse } from './upstream-response.js';

/** Options of {@link createProxy}. */
export interface ProxyOptions {
  /**
   * Milliseconds within which the upstream server must begin its response. After that the client
   * gets 504. 0 disables.
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
   * Called with the error of every request to which the upstream server did not respond.
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
 * Creates a handler that forwards each request to the URL `upstream`, and to no other URL. It adds
 * the client's query, except parameters that `upstream` already has, and follows no redirect.
 * Bodies are streamed in both directions. When the client disconnects, the upstream request is
 * aborted.
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
  const onError = safeOnError(options.onError ?? report);
  const url = upstreamUrl(upstream);
  expectAmounts('', { timeoutMs });
  return async (request) => {
    try {
      return clientResponse(
        await send(
          fetch,
          upstreamRequest(request, url, clientIp(clientRequestOf(request))),
          request.signal,
          timeoutMs,
        ),
      );
    } catch (error) {
      // A client that has disconnected is not an error, and receives no response.
      if (!request.signal.aborted) onError(error as Error);
      return failedResponse(error);
    }
  };
}

/**
 * Parses the URL of an upstream server.
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
    'the upstream must be an http or https URL without credentials',
  );
}

/** Returns the request to the upstream server. */
function upstreamRequest(
  request: Request,
  upstream: URL,
  clientIp: string | undefined,
): RequestInit & { url: URL } {
  const { body, method } = request;
  const headers = forwardedHeaders({ request, clientIp });
  const prefix = prefixOf(request);
  if (prefix !== '') headers.set('x-forwarded-prefix', prefix);
  const url = forwardedUrl(upstream, request);
  // Node requires `duplex` for a stream as body, but the type lacks it.
  return { url, method, headers, body, redirect: 'manual', duplex: 'half' } as RequestInit & {
    url: URL;
  };
}

/** Returns the part before `/mcp` in the path of a request, which may name a tenant. */
function prefixOf({ url }: Request): string {
  const [, prefix = ''] = /^(?!\/\.well-known\/)(.*)\/mcp$/.exec(new URL(url).pathname) ?? [];
  return prefix;
}

async function send(
  fetch: (request: Request) => Promise<Response>,
  { url, ...init }: RequestInit & { url: URL },
  client: AbortSignal,
  timeoutMs: number,
): Promise<Response> {
  const abort = new AbortController();
  const signal = AbortSignal.any([client, abort.signal]);
  try {
    const response = fetch(new Request(url, { ...init, signal }));
    return await withTimeout(finiteTimeout(timeoutMs), response, tooLate);
  } catch (cause) {
    abort.abort();
    if (cause instanceof ListenError) throw cause;
    throw new ListenError('upstream-unreachable', 'the upstream server cannot be reached', {
      cause,
    });
  }
}

function tooLate(): ListenError {
  return new ListenError('upstream-timeout', 'the upstream server did not respond in time');
}

/** Returns the response to the client. */
function clientResponse(response: Response): Response {
  const { body, status, statusText } = response;
  if (status >= 300 && status < 400 && status !== 304) {
    void body?.cancel();
    throw new ListenError(
      'upstream-redirected',
      `the upstream server redirects (${status}): use the URL that it redirects to`,
    );
  }
  const headers = withoutHops(response.headers);
  // Runtimes decode the bodies that they return.
  if (headers.has('content-encoding')) {
    for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  }
  return new Response(body, { status, statusText, headers });
}
