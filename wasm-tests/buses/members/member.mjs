import { createInterface } from 'node:readline';
import { createListenHandler } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { natsBus } from 'mcp-listen/nats';
import { redisBus } from 'mcp-listen/redis';
import { LISTEN_HEADERS, listenBody } from '../../host/listen.ts';

// One of several processes or threads on a bus: holds a stream that prints what it receives, and
// runs the commands from stdin.
const [kind, port, ...uris] = process.argv.slice(2);
const options = { onError: () => {}, logEvents: 500 };
const makers = {
  redis: () => redisBus(`redis://127.0.0.1:${port}`, options),
  nats: () => natsBus(`nats://127.0.0.1:${port}`, options),
  channel: () => broadcastChannelBus(options),
};
const bus = makers[kind]();
const server = createListenHandler(() => new Response(null, { status: 404 }), {
  bus,
  server: {
    info: { name: 'tests', version: '1.0.0' },
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  },
});

/** @type {Record<string, (...words: string[]) => Promise<unknown>>} */
const commands = {
  publish: (uri) =>
    server.notify.resourceUpdated(uri).then(
      () => console.log(`published ${uri}`),
      (error) => console.log(error.code),
    ),
  flood: async (times, together) => {
    const uri = `note://${'x'.repeat(2_000)}`;
    const events = Array.from({ length: Number(together) }, () => ({
      kind: 'resource_updated',
      uri,
    }));
    for (let sent = 0; sent < Number(times); sent += 1) await bus.publishAll(events);
    console.log('flooded');
  },
  stats: async () => console.log(JSON.stringify(bus.stats())),
  close: async () => {
    await server.close();
    await bus.close();
  },
};

await bus.ready();
if (uris.length > 0) void listen();
else console.log('ready');
const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  const [command, ...words] = line.split(' ');
  await commands[command](...words);
}
async function listen() {
  const response = await server.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: listenBody({ toolsListChanged: true, resourceSubscriptions: uris }),
    }),
  );
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    for (const [, method, uri] of text.matchAll(
      /"method":"notifications\/([^"]+)".*?(?:"uri":"([^"]+)"|$)/gm,
    ))
      console.log(uri ?? method);
    if (text.includes('"result"')) console.log('result');
  }
}
