import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  analyticsWriter,
  createListenHandler,
  createMetricsHandler,
  createOperatorHandler,
  type ServerEvent,
  screen,
} from 'mcp-listen';
import { createPublishHandler, durableObjectBus } from 'mcp-listen/cloudflare';
import { createConsole } from 'mcp-listen/console';
import { demoCaller } from './callers.js';
import { events, type Occurrence } from './events.js';
import { gateway } from './gateway.js';
import { notebookServer } from './server.js';
import { settings } from './settings.js';

export { SubscriptionBus } from './gateway.js';
export { Notebook } from './notebook.js';

const BUS = 'mcp-listen';

const {
  hasConsole,
  hasDemoCallers,
  isStatsOpen,
  isWritable,
  metricsToken,
  operatorToken,
  publishToken,
  screening,
} = settings;

const mcp = createListenHandler(
  createMcpHandler(() =>
    notebookServer(env.NOTEBOOK.getByName('notebook'), isWritable ? publish : undefined),
  ),
  {
    bus: durableObjectBus(env.MCP_BUS, { bus: BUS }),
    events,
    ...screening,
    ...(hasDemoCallers && { principal: demoCaller }),
  },
);

const server = gateway?.server() ?? mcp;
/** The counters of the streams of this isolate. */
const { stats } = server;

/** The endpoint for Prometheus; undefined without a token. */
const metricsHandler = metricsToken
  ? createMetricsHandler({ token: metricsToken, stats, bus: () => bus().stats() })
  : undefined;
/** The console at /, and the endpoints that it uses at /stats and /operate. */
const operated = (hasConsole ? createConsole : createOperatorHandler)({
  server,
  token: operatorToken,
  path: '/',
  isPublic: isStatsOpen,
});
const analyse = env.ANALYTICS ? analyticsWriter(env.ANALYTICS, stats) : () => {};

const publishHandler = publishToken
  ? createPublishHandler(env.MCP_BUS, { secret: publishToken, bus: BUS, ...screening })
  : undefined;

const screened = screen(screening);

/**
 * Serves the MCP endpoint at /mcp, of the notebook or of the upstream server. If the variables say
 * so, also serves the console at /, and the endpoints for publishing, operators and statistics.
 * Every path accepts only the hosts and origins that the endpoint accepts.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    analyse();
    // The endpoint checks hosts and origins itself, and counts what it refuses.
    return url.pathname === '/mcp'
      ? endpoint(request)
      : screened(request, () => otherPath(request, url));
  },
};

function endpoint(request: Request): Promise<Response> {
  return gateway === undefined ? mcp.fetch(request) : gateway.fetch(request);
}

async function otherPath(request: Request, url: URL): Promise<Response> {
  const operation = await operated(request);
  if (operation !== undefined) return operation;
  if (url.pathname === '/metrics' && metricsHandler !== undefined) return metricsHandler(request);
  if (gateway !== undefined) return gateway.fetch(request);
  if (url.pathname === '/publish' && publishHandler !== undefined) return publishHandler(request);
  return new Response('Not found. The MCP endpoint is /mcp.\n', { status: 404 });
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
