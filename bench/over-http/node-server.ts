import { serveOnNode } from '../../wasm-tests/host/node-http.ts';
import { type ServerName, serverOf } from '../in-process/servers.ts';

const { fetch, publish } = await serverOf(process.argv[2] as ServerName);

/**
 * The same adapter of Node's HTTP for every contender; whoever publishes is in the same process.
 */
const { origin } = await serveOnNode(async (request) => {
  if (new URL(request.url).pathname !== '/publish') return fetch(request);
  const { uris } = (await request.json()) as { uris: string[] };
  await Promise.all(uris.map((uri) => publish(uri)));
  return new Response();
});

process.on('disconnect', () => process.exit());
process.send?.(origin);
