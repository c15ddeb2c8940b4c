import { files } from '#page';
import { ListenError } from '../model/error.js';

/**
 * Returns the page below `path`, or one of its files; undefined for any other path. The page
 * connects to `endpoint` at first.
 */
export function pageFile(request: Request, path: string, endpoint: string): Response | undefined {
  const { origin, pathname } = new URL(request.url);
  if (`${pathname}/` === path) return moved(path);
  if (!pathname.startsWith(path)) return undefined;
  const name = pathname.slice(path.length);
  const body = bodyOf(name === '' ? 'index.html' : name, origin, path, endpoint);
  if (body === undefined) return undefined;
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
  // A name with a digest always has the same content.
  const isDigest = /-[\w-]{8}\.\w+$/.test(name);
  return new Response(body, {
    headers: {
      ...HEADERS,
      'content-type': TYPES[name.replace(/.*\./, '')] ?? 'text/html; charset=utf-8',
      'cache-control': isDigest ? 'public, max-age=31536000, immutable' : 'no-cache',
    },
  });
}

function bodyOf(
  name: string,
  origin: string,
  path: string,
  endpoint: string,
): string | Uint8Array<ArrayBuffer> | undefined {
  if (name === 'client.json') return clientMetadata(origin + path);
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) return undefined;
  if ('base64' in file) return bytesOf(name, file.base64);
  if (name !== 'index.html') return file.text;
  return file.text
    .replaceAll('{{endpoint}}', safeUrl(new URL(endpoint, origin).href))
    .replaceAll('{{page}}', safeUrl(origin + path));
}

/**
 * Expects the path or the URL of an endpoint.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectEndpoint(endpoint: string): void {
  if (URL.canParse(endpoint, 'https://example.com')) return;
  throw new ListenError('invalid-options', 'endpoint is neither a path nor a URL');
}

/**
 * Returns what authorization servers read about the page, if they identify clients by the URL of
 * such a document (OAuth Client ID Metadata Document).
 */
function clientMetadata(page: string): string {
  return JSON.stringify({
    client_id: `${page}client.json`,
    client_name: 'mcp-listen console',
    redirect_uris: [page],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
}

// A URL may contain quotes and ampersands. This one is inserted into HTML and shell commands.
function safeUrl(url: string): string {
  return url.replace(/[^\w.:/[\]%?=~,+@-]/g, '');
}

/** Decodes a file once: everyone may request it. */
function bytesOf(name: string, base64: string): Uint8Array<ArrayBuffer> {
  const known = decoded.get(name);
  if (known !== undefined) return known;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  decoded.set(name, bytes);
  return bytes;
}

const decoded = new Map<string, Uint8Array<ArrayBuffer>>();

function moved(path: string): Response {
  return new Response(null, { status: 308, headers: { location: path } });
}

const TYPES: Partial<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  md: 'text/plain; charset=utf-8',
  wasm: 'application/wasm',
};

// The console connects to any endpoint that its user enters, over HTTPS or on this machine. It is
// not known in advance, so the policy cannot be narrower.
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
