import { core, html, script, style } from '#page';

/** Returns the page below `path`, or one of its files; undefined for any other path. */
export function pageFile(request: Request, path: string): Response | undefined {
  const { origin, pathname, search } = new URL(request.url);
  if (`${pathname}/` === path) return moved(path);
  if (!pathname.startsWith(path)) return undefined;
  const name = pathname.slice(path.length);
  const file = name === '' ? pageFor(origin) : fileOf(name);
  if (file === undefined) return undefined;
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
  const cached = VERSIONED.has(name + search) ? 'public, max-age=31536000, immutable' : 'no-cache';
  return new Response(file.body, {
    headers: { ...HEADERS, 'content-type': file.type, 'cache-control': cached },
  });
}

interface PageFile {
  body: string | Uint8Array<ArrayBuffer>;
  type: string;
}

function fileOf(name: string): PageFile | undefined {
  switch (name) {
    case 'console.js':
      return { body: script, type: 'text/javascript; charset=utf-8' };
    case 'console.css':
      return { body: style, type: 'text/css; charset=utf-8' };
    case 'console.wasm':
      return { body: coreBytes(), type: 'application/wasm' };
    default:
      return undefined;
  }
}

function pageFor(origin: string): PageFile {
  return {
    body: html.replaceAll('{{origin}}', safeOrigin(origin)),
    type: 'text/html; charset=utf-8',
  };
}

// A host name may contain quotes and ampersands. This one is inserted into HTML and shell commands.
function safeOrigin(origin: string): string {
  return origin.replace(/[^\w.:/[\]-]/g, '');
}

function coreBytes(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(core), (character) => character.charCodeAt(0));
}

function moved(path: string): Response {
  return new Response(null, { status: 308, headers: { location: path } });
}

/**
 * The names with a digest under which the page and its script load the files. The content of such a
 * URL never changes.
 */
const VERSIONED = new Set(
  [html, script].flatMap((text) => text.match(/console\.\w+\?v=\w+/g) ?? []),
);

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
