import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  analyticsWriter,
  createListenHandler,
  createMetricsHandler,
  type ServerEvent,
  screen,
} from 'mcp-listen';
import { createPublishHandler, durableObjectBus } from 'mcp-listen/cloudflare';
import { consoleFile } from './console.js';
import { events, type Occurrence } from './events.js';
import { gate } from './gateway.js';
import { notebookServer } from './server.js';
import { settings } from './settings.js';
import { statistics } from './stats.js';

export { SubscriptionBus } from './gateway.js';
export { Notebook } from './notebook.js';

const BUS = 'mcp-listen';

const { front, hasConsole, isStatsOpen, isWritable, metricsToken, publishToken } = settings;

const mcp = createListenHandler(
  createMcpHandler(() =>
    notebookServer(env.NOTEBOOK.getByName('notebook'), isWritable ? publish : undefined),
  ),
  { bus: durableObjectBus(env.MCP_BUS, { bus: BUS }), events, ...front },
);

/** What holds the streams of this isolate. */
const { stats } = gate?.server() ?? mcp;

/** What Prometheus reads; without a token there is none. */
const scraped = metricsToken
  ? createMetricsHandler({ token: metricsToken, stats, bus: () => bus().stats() })
  : undefined;
const numbers =
  isStatsOpen || publishToken
    ? statistics({ isOpen: isStatsOpen, secret: publishToken })
    : undefined;
const analyse = env.ANALYTICS ? analyticsWriter(env.ANALYTICS, stats) : () => {};

const published = publishToken
  ? createPublishHandler(env.MCP_BUS, { secret: publishToken, bus: BUS, ...front })
  : undefined;

const screened = screen(front);

/**
 * The MCP endpoint at /mcp, the notebook's or that of a server behind, and what the variables
 * switch on: the console at /, and what it publishes to and reads numbers from. Every path is
 * behind the rules for hosts and pages of the endpoint.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    analyse();
    // The endpoint screens its requests by itself, and counts what it refuses.
    return url.pathname === '/mcp'
      ? endpoint(request)
      : screened(request, () => elsewhere(request, url));
  },
};

function endpoint(request: Request): Promise<Response> {
  return gate === undefined ? mcp.fetch(request) : gate.fetch(request);
}

async function elsewhere(request: Request, url: URL): Promise<Response> {
  if (url.pathname === '/stats' && numbers !== undefined) return numbers(request, stats(), bus);
  if (url.pathname === '/metrics' && scraped !== undefined) return scraped(request);
  const file = hasConsole ? consoleFile(request, url) : undefined;
  if (file !== undefined) return file;
  if (gate !== undefined) return gate.fetch(request);
  if (url.pathname === '/publish' && published !== undefined) return published(request);
  return new Response('There is nothing here. The MCP endpoint is /mcp.\n', { status: 404 });
}

async function publish(
  changes: readonly ServerEvent[],
  occurrences: readonly Occurrence[],
): Promise<void> {
  for (const change of changes) await mcp.bus.publish(change);
  for (const { data, name } of occurrences) await mcp.notify.event(name, data);
}

function bus() {
  return env.MCP_BUS.getByName(BUS);
}
