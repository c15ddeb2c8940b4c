// Entries that need no other package, whatever they adapt to.
import { brokerBus } from 'mcp-listen';
import { listenMiddleware } from 'mcp-listen/hono';
import { busTests } from 'mcp-listen/testing';
import { hubBroker } from './hub.mjs';

const listeners = new Set();
const publish = async (events) => {
  for (const listener of listeners) listener.onEvents(events);
};
const makeBus = () => brokerBus(hubBroker(listeners, publish));

for (const { run } of busTests('a hub', makeBus)) await run();
const response = await listenMiddleware(() => new Response('behind'))({
  req: { raw: new Request('http://localhost/mcp', { method: 'POST', body: '{}' }), bodyCache: {} },
});
console.log(await response.text());
process.exit();
