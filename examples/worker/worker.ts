import { env } from 'cloudflare:workers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveListen } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';
import { lampServer } from './lamp.js';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

const mcp = createMcpHandler(() => lampServer(() => server.notify.resourceUpdated('lamp://desk')));
const server = serveListen(mcp, { bus: durableObjectBus(env.MCP_BUS) });

export default { fetch: (request: Request) => server.fetch(request) };
