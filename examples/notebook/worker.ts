import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { analyticsWriter, metrics, type ServerEvent, serveListen } from 'mcp-listen';
import { durableObjectBus, publishEndpoint } from 'mcp-listen/cloudflare';
import { consoleFile } from './console.js';
import { gate } from './gateway.js';
import { notebookServer } from './server.js';
import { statistics } from './stats.js';

export { SubscriptionBus } from './gateway.js';
export { Notebook } from './notebook.js';

const BUS = 'mcp-listen';

const mcp = serveListen(
  createMcpHandler(() => notebookServer(env.NOTEBOOK.getByName('notebook'), publish)),
  { bus: durableObjectBus(env.MCP_BUS, { name: BUS }) },
);

/** What holds the streams of this isolate. */
const { stats } = gate?.server() ?? mcp;

const { ANALYTICS, METRICS_TOKEN } = env;
/** What Prometheus reads; without a token there is none. */
const scraped = METRICS_TOKEN ? metrics({ token: METRICS_TOKEN, stats, bus: () => bus().stats() }) : undefined;
const analyse = ANALYTICS ? analyticsWriter(ANALYTICS, stats) : () => {};

const published = publishEndpoint(env.MCP_BUS, { secret: env.PUBLISH_TOKEN, busName: BUS });

/** The MCP endpoint at /mcp, the notebook's or that of a server behind, the console at /, and what the console publishes to and reads numbers from. */
export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { PUBLISH_TOKEN: secret, STATS_OPEN } = env;
    analyse();
    if (url.pathname === '/stats') return statistics(request, { isOpen: !!STATS_OPEN, secret }, stats(), bus);
    if (url.pathname === '/metrics' && scraped !== undefined) return scraped(request);
    const file = consoleFile(request, url);
    if (file !== undefined) return file;
    if (gate !== undefined) return gate.fetch(request);
    if (url.pathname === '/mcp') return mcp.fetch(request);
    if (url.pathname === '/publish') return published(request);
    return new Response('There is only / and /mcp.\n', { status: 404 });
  },
};

async function publish(changes: readonly ServerEvent[]): Promise<void> {
  for (const change of changes) await mcp.bus.publish(change);
}

function bus() {
  return env.MCP_BUS.getByName(BUS);
}
