import { setImmediate, setTimeout } from 'node:timers/promises';
import { main } from '../../scripts/process/main.mjs';
import { wasmBytes, watchWasmMemory } from '../in-process/wasm-memory.ts';
import { listenFor, listenRequest, resourceUri } from '../requests.ts';
import { type ServerName, serverOf } from '../servers/servers.ts';

/** The growth of a process, in bytes. */
export interface Growth {
  /** JavaScript's heap, buffers and WebAssembly's memory, after a collection. */
  heap: number;
  /** The resident memory of the process. */
  resident: number;
}

/** Opens one unread stream, publishes changes of its resource, and prints the growth as JSON. */
async function growth(): Promise<void> {
  const [, , name, events] = process.argv;
  watchWasmMemory();
  const server = await serverOf(name as ServerName);
  const response = await server.fetch(listenRequest(listenFor([URI], '1')));
  await publishAll(server.publish, WARM_UP);
  const before = await used();
  await publishAll(server.publish, Number(events));
  const after = await used();
  if (response.body?.locked !== false) throw new Error('the stream has a reader');
  const grown = { heap: after.heap - before.heap, resident: after.resident - before.resident };
  process.stdout.write(JSON.stringify(grown));
  process.exit();
}

async function publishAll(publish: (uri: string) => unknown, events: number): Promise<void> {
  for (let event = 0; event < events; event += 1) {
    await publish(URI);
    if (event % BURST === 0) await setImmediate();
  }
}

async function used(): Promise<Growth> {
  for (let time = 0; time < 3; time += 1) {
    globalThis.gc?.();
    await setTimeout(20);
  }
  const { arrayBuffers, heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers + wasmBytes(), resident: rss };
}

const URI = resourceUri(0);
const WARM_UP = 100_000;
const BURST = 1_000;

await main(import.meta.url, growth);
