import core from '../../.build/console/core.bin';
import page from '../../.build/console/index.html';
import script from '../../.build/console/script.txt';
import style from '../../.build/console/style.txt';

/** Returns the console at `/`, or one of the files that it loads; undefined for any other path. */
export function consoleFile(request: Request, url: URL): Response | undefined {
  const file = url.pathname === '/' ? pageFor(url.origin) : FILES[url.pathname];
  if (file === undefined) return undefined;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } });
  }
  const cached = IMMUTABLE.has(url.pathname + url.search)
    ? 'public, max-age=31536000, immutable'
    : 'no-cache';
  return new Response(file.body, {
    headers: { ...HEADERS, 'Content-Type': file.type, 'Cache-Control': cached },
  });
}

function pageFor(origin: string): File {
  return {
    body: page.replaceAll('{{origin}}', safeOrigin(origin)),
    type: 'text/html; charset=utf-8',
  };
}

// A host name may contain quotes and ampersands. This one is inserted into HTML and shell commands.
function safeOrigin(origin: string): string {
  return origin.replace(/[^\w.:/[\]-]/g, '');
}

interface File {
  body: string | ArrayBuffer;
  type: string;
}

const FILES: Partial<Record<string, File>> = {
  '/console.js': { body: script, type: 'text/javascript; charset=utf-8' },
  '/console.css': { body: style, type: 'text/css; charset=utf-8' },
  '/console.wasm': { body: core, type: 'application/wasm' },
};

/**
 * The URLs with a digest under which the page and its script load the files. The content at such a
 * URL never changes.
 */
const IMMUTABLE = new Set(
  [page, script].flatMap((text) => text.match(/\/console\.\w+\?v=\w+/g) ?? []),
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
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
