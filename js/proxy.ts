import { deferred } from './deferred.js';
import { ListenError, type ListenErrorCode } from './error.js';
import { json } from './refusals.js';
import { Renewed } from './renewed.js';
import { guarded, report } from './report.js';
import { Acceptor, Refusal } from './wasm.js';

/** How requests are forwarded. */
export interface ProxyOptions {
  /** Milliseconds that the server behind may take to begin an answer (default 120,000). */
  timeoutMs?: number;
  /** Sends each request in place of the global `fetch`: that of a service binding, for example. */
  fetch?: (request: Request) => Promise<Response>;
  /** Told of every request that the server behind did not answer (default: `console.error`). */
  onerror?: (error: Error) => void;
}

/**
 * The handler that forwards each request to the one URL `upstream`, and nowhere else: a query is added, a redirect is
 * not followed. Bodies stream both ways, and a client that leaves ends the request upstream.
 *
 * @throws ListenError `invalid-options`.
 */
export function proxyTo(upstream: string | URL, options: ProxyOptions = {}): (request: Request) => Promise<Response> {
  const { fetch = (request) => globalThis.fetch(request), timeoutMs = 120_000 } = options;
  const onerror = guarded(options.onerror ?? report);
  const url = upstreamUrl(upstream);
  return async (request) => {
    try {
      return answered(await sent(fetch, forwarded(request, url), request.signal, timeoutMs));
    } catch (error) {
      // A client that has left is nobody's error, and hears no answer.
      if (!request.signal.aborted) onerror(error as Error);
      return refused(isLate(error) ? Refusal.GatewayTimeout : Refusal.BadGateway);
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
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  throw new ListenError('invalid-options', 'the upstream is no URL of http or https without a user');
}

/** The answer of a gateway that says by itself that a request is not served. */
export function refused(refusal: Refusal): Response {
  refuser ??= new Renewed(() => new Acceptor());
  const rejection = refuser.value.refuse(refusal);
  const { body, retryAfter, status } = rejection;
  rejection.free();
  const response = json(body, status);
  if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
  return response;
}

/** The request as the server behind gets it. */
function forwarded(request: Request, upstream: URL): RequestInit & { url: URL } {
  const { protocol, search, host } = new URL(request.url);
  const headers = withoutHops(request.headers);
  for (const name of NOT_FORWARDED) headers.delete(name);
  for (const name of [...headers.keys()].filter((field) => /^(x-forwarded-|sec-fetch-)/.test(field)))
    headers.delete(name);
  headers.set('x-forwarded-host', host);
  headers.set('x-forwarded-proto', protocol.slice(0, -1));
  const client = request.headers.get('cf-connecting-ip');
  if (client !== null) headers.set('x-forwarded-for', client);
  // What compresses an event stream may hold it back.
  headers.set('accept-encoding', 'identity');
  const url = new URL(upstream);
  url.search = [upstream.search, search]
    .map((part) => part.slice(1))
    .filter(Boolean)
    .join('&');
  const { body, method } = request;
  // Node takes a stream as a body only with `duplex`, which the type does not know.
  return { url, method, headers, body, redirect: 'manual', duplex: 'half' } as RequestInit & { url: URL };
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
  }, timeoutMs);
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
    throw new ListenError('upstream-redirected', `the server behind redirects (${status}): name where it is`);
  }
  const headers = withoutHops(response.headers);
  // The body that a runtime hands out is decoded.
  if (headers.has('content-encoding')) {
    for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  }
  return new Response(body, { status, statusText, headers });
}

/** The header fields but those that concern one connection only (RFC 9110, 7.6.1). */
function withoutHops(headers: Headers): Headers {
  const named = (headers.get('connection') ?? '').split(',').map((name) => name.trim());
  const all = new Headers(headers);
  for (const name of [...HOP_BY_HOP, ...named.filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name))]) all.delete(name);
  return all;
}

function isLate(error: unknown): boolean {
  return error instanceof ListenError && error.code === ('upstream-timeout' satisfies ListenErrorCode);
}

let refuser: Renewed<Acceptor> | undefined;

const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
];
/** What the runtime says by itself, and what was judged here: the server behind knows neither our host nor its pages. */
const NOT_FORWARDED = ['host', 'origin', 'content-length', 'expect', 'forwarded'];
