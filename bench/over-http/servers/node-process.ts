import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { portOf } from '../../../wasm-tests/host/port.ts';
import type { NodeName } from './node.ts';
import { nodeContender } from './on-node.ts';

/** Serves a contender on Node's HTTP; this process publishes too. */
const { handle, publish } = await nodeContender(process.argv[2] as NodeName);

async function publishAll(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { uris } = (await json(incoming)) as { uris: string[] };
  await publish(uris);
  outgoing.end();
}

const server = createServer((incoming, outgoing) => {
  if (incoming.url === '/publish') void publishAll(incoming, outgoing);
  else void handle(incoming, outgoing);
});
await once(server.listen(0, '127.0.0.1'), 'listening');

process.on('disconnect', () => process.exit());
process.send?.(`http://127.0.0.1:${portOf(server)}`);
