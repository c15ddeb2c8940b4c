import { serveOnNode } from '../../../wasm-tests/host/node-http.ts';
import { type ServerName, serverOf } from '../../servers/servers.ts';

const { fetch, publish } = await serverOf(process.argv[2] as ServerName);

/** The same adapter to Node's HTTP for each server; this process publishes too. */
const { origin } = await serveOnNode(async (request) => {
  if (new URL(request.url).pathname !== '/publish') return fetch(request);
  const { uris } = (await request.json()) as { uris: string[] };
  await Promise.all(uris.map((uri) => publish(uri)));
  return new Response();
});

process.on('disconnect', () => process.exit());
process.send?.(origin);
