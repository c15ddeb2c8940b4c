/** A request to forward. */
export interface ClientRequest {
  /** The original request. */
  request: Request;
  /** The address of its client, if known. */
  clientIp: string | undefined;
}

/**
 * Returns the header fields for the upstream server: those of the client, without fields that state
 * its address, or another method, host or path.
 */
export function forwardedHeaders({ clientIp, request }: ClientRequest): Headers {
  const { host, protocol } = new URL(request.url);
  const headers = withoutHops(request.headers);
  for (const name of [...headers.keys()]) if (isUntrusted(name)) headers.delete(name);
  headers.set('x-forwarded-host', host);
  headers.set('x-forwarded-proto', protocol.slice(0, -1));
  if (clientIp !== undefined) headers.set('x-forwarded-for', clientIp);
  // Compression may delay the events of a stream.
  headers.set('accept-encoding', 'identity');
  return headers;
}

/**
 * Returns `upstream` with the client's query added, except parameters that `upstream` already has.
 */
export function forwardedUrl(upstream: URL, request: Request): URL {
  const url = new URL(upstream);
  const own = new Set(parametersOf(upstream.search).flatMap(namesOf));
  const added = parametersOf(new URL(request.url).search);
  const kept = added.filter((parameter) => !namesOf(parameter).some((name) => own.has(name)));
  url.search = [...parametersOf(upstream.search), ...kept].join('&');
  return url;
}

/**
 * Returns `CF-Connecting-IP` if Cloudflare set it. Anywhere else a client can set the field.
 * `request.cf` alone proves nothing: workerd always sets it, but only Cloudflare sets `colo`.
 */
export function cloudflareIp(request: Request): string | undefined {
  const { cf } = request as { cf?: { colo?: unknown } };
  return (cf?.colo !== undefined && request.headers.get('cf-connecting-ip')) || undefined;
}

/** Returns the header fields without those of a single connection (RFC 9110, 7.6.1). */
export function withoutHops(headers: Headers): Headers {
  const named = (headers.get('connection') ?? '').split(',').map((name) => name.trim());
  const all = new Headers(headers);
  for (const name of [...HOP_BY_HOP, ...named.filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name))])
    all.delete(name);
  return all;
}

function parametersOf(search: string): string[] {
  return search.slice(1).split('&').filter(Boolean);
}

/**
 * Returns the names that servers may read in a parameter. Some split at semicolons, ignore case or
 * blanks, read `a[]` and `[a]` as `a`, end names at NUL, or replace a dot by `_`. PHP also replaces
 * an unclosed bracket by `_`.
 */
function namesOf(parameter: string): string[] {
  return parameter.split(';').flatMap((part) => {
    const [name = ''] = new URLSearchParams(part).keys();
    const [whole = ''] = name.trim().toLowerCase().split('\0');
    const [plain = ''] = whole.replace(/^[[\]\s]+/, '').split(/[[\]]/);
    return [plain, whole].map((each) => each.trim().replaceAll(/[. [+]/g, '_'));
  });
}

/**
 * Returns whether a field is dropped. Servers on CGI and WSGI read `_` as `-`, and some any other
 * character.
 */
function isUntrusted(name: string): boolean {
  const plain = name.replaceAll(/[^a-z0-9]/g, '-');
  return (
    plain !== ACCESS_TOKEN &&
    (UNTRUSTED.includes(plain) || UNTRUSTED_FAMILIES.some((family) => family.test(plain)))
  );
}

const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
];
/**
 * Fields that the runtime sets, fields that were checked here (the upstream server does not know
 * our host and origins), and fields in which proxies describe clients: a client can forge them.
 */
const UNTRUSTED = [
  ...['host', 'origin', 'content-length', 'expect', 'forwarded', 'x-forwarded', 'x-host'],
  ...['x-azure-socketip', 'cloudfront-viewer-address'],
  ...['x-rewrite-url', 'x-http-method', 'x-http-method-override', 'x-method-override'],
  ...['x-http-host-override', 'x-script-name', 'x-scheme', 'x-url-scheme', 'front-end-https'],
  // CGI programs read it as the variable HTTP_PROXY (httpoxy).
  'proxy',
];
const UNTRUSTED_FAMILIES = [
  /^(x-forwarded-|x-original-|x-envoy-|sec-fetch-|cf-)/,
  /(^|-)(client|cluster|connecting|connection|originating|real|remote|(proxy)?user)-?(ip|addr)$/,
  /-(forwarded|proxied)-for$/,
];
/** The token of Cloudflare Access, which is signed, unlike the other `cf-` fields. */
const ACCESS_TOKEN = 'cf-access-jwt-assertion';
