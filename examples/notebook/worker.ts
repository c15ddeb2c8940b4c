import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { type ServerEvent, serveListen } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import page from './page.html';
import { notebookServer } from './server.js';

export { SubscriptionBus } from 'mcp-listen/cloudflare';
export { Notebook } from './notebook.js';

const mcp = serveListen(
  createMcpHandler(() => notebookServer(env.NOTEBOOK.getByName('notebook'), publish)),
  { bus: durableObjectBus(env.MCP_BUS) },
);

/** The MCP endpoint at /mcp and a page about it at /. */
export default {
  fetch(request: Request): Response | Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === '/mcp') return mcp.fetch(request);
    if (url.pathname === '/') return home(request, url);
    return new Response('There is only / and /mcp.\n', { status: 404 });
  },
};

async function publish(changes: readonly ServerEvent[]): Promise<void> {
  for (const change of changes) await mcp.bus.publish(change);
}

function home(request: Request, url: URL): Response {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } });
  }
  return new Response(page.replaceAll('{{origin}}', plain(url.origin)), { headers: PAGE_HEADERS });
}

// A host name may hold quotes and ampersands, and this one ends up in HTML and in a shell.
function plain(origin: string): string {
  return origin.replace(/[^\w.:/[\]-]/g, '');
}

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};
