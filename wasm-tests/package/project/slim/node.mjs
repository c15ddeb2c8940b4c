import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as client from 'mcp-listen/client/slim';
import * as server from 'mcp-listen/slim';
import { scenario } from '../scenario.mjs';
import { served } from '../serve.mjs';

const early = await Promise.all([
  served(server).catch((error) => error.code),
  client.listen('http://localhost/mcp', {}).catch((error) => error.code),
]);

server.init(await bytes('mcp-listen/wasm'));
client.init(await WebAssembly.compile(await bytes('mcp-listen/client/wasm')));
const frames = await served(server, again);
console.log([...early, await scenario(client, process.argv[2]), frames].join('\n'));

/** A second core, started while a stream is open, would not know the stream. */
async function again() {
  server.init(await bytes('mcp-listen/wasm'));
  const { InMemoryBus } = await import('mcp-listen');
  if (InMemoryBus !== server.InMemoryBus) throw new Error('there are two of everything');
}

function bytes(name) {
  return readFile(fileURLToPath(import.meta.resolve(name)));
}
