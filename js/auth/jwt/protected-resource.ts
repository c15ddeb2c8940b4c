import { ListenError } from '../../model/error.js';

/** The metadata of a server that accepts tokens. */
export interface ProtectedResourceOptions {
  /** The server's identifier: the URL of its endpoint, as tokens name it in `aud`. */
  resource: string;
  /** The issuers of tokens. */
  authorizationServers: readonly string[];
  /**
   * The scopes that callers may request from the issuers.
   *
   * @default none are named
   */
  scopes?: readonly string[];
}

/**
 * Serves the metadata of a resource (OAuth 2.0 Protected Resource Metadata, RFC 9728). The returned
 * function serves requests to the well-known path of the resource, and to the root path, which
 * clients try next. It returns undefined for any other request. The metadata is public, and pages
 * of every origin may read it.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const metadata = createProtectedResourceHandler({
 *   resource: 'https://mcp.example/mcp',
 *   authorizationServers: [issuer],
 * });
 * const response = metadata(request) ?? (await server.fetch(request));
 * ```
 */
export function createProtectedResourceHandler(
  options: ProtectedResourceOptions,
): (request: Request) => Response | undefined {
  const { authorizationServers, resource, scopes } = options;
  const paths = new Set([WELL_KNOWN, metadataUrl(resource).pathname]);
  const body = JSON.stringify({
    resource,
    authorization_servers: authorizationServers,
    ...(scopes !== undefined && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  });
  return ({ method, url }) => {
    if (!METHODS.has(method) || !paths.has(new URL(url).pathname)) return undefined;
    if (method === 'OPTIONS')
      return new Response(null, { status: 204, headers: { ...CORS, ...PREFLIGHT } });
    return new Response(method === 'HEAD' ? null : body, { headers: { ...CORS, ...JSON_HEADERS } });
  };
}

/**
 * Returns the URL of the metadata of a resource (RFC 9728, Section 3.1).
 *
 * @throws ListenError `invalid-options`.
 */
export function metadataUrl(resource: string): URL {
  if (!isResource(resource)) {
    throw new ListenError(
      'invalid-options',
      'resource must be an http or https URL without a fragment',
    );
  }
  const { origin, pathname, search } = new URL(resource);
  return new URL(`${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}${search}`);
}

/** RFC 9728, Section 1.2. Plain HTTP is accepted for tests. */
function isResource(resource: string): boolean {
  return URL.canParse(resource) && /^https?:\/\/[^#]+$/i.test(resource);
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const CORS = { 'access-control-allow-origin': '*' };
const PREFLIGHT = { 'access-control-allow-methods': 'GET', 'access-control-allow-headers': '*' };
const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'public, max-age=3600',
};
