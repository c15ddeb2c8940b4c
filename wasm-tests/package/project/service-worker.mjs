import { createListenHandler } from 'mcp-listen';

const server = createListenHandler(() => new Response(null, { status: 404 }), {
  server: {
    info: { name: 'tests', version: '1.0.0' },
    capabilities: { tools: { listChanged: true } },
  },
});

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url);
  if (pathname === '/mcp') event.respondWith(server.fetch(event.request));
  if (pathname === '/publish')
    event.respondWith(server.notify.toolsChanged().then(() => new Response(null, { status: 204 })));
});
