import { env } from 'cloudflare:workers';
import { gateway, SubscriptionBus as PlainBus } from 'mcp-listen/cloudflare';
import { type Upstream, watchUpstream } from 'mcp-listen/cloudflare/watch';
import { settings } from './settings.js';
import { tenancy } from './tenants.js';

const { MCP_BUS, UPSTREAM, UPSTREAM_TOKEN, UPSTREAM_WATCH } = env;

const options = { ...tenancy(env), listen: settings.front };

/** Stands in front of the MCP server at UPSTREAM; undefined: there is none, and the notebook is served. */
export const gate = UPSTREAM ? gateway(UPSTREAM, MCP_BUS, options) : undefined;

/** The bus of both: behind a gateway it watches the server, too. */
export class SubscriptionBus extends PlainBus {
  static override watcher = watchUpstream(watched);
}

function watched(): Upstream | undefined {
  if (!UPSTREAM || UPSTREAM_WATCH === 'off') return undefined;
  return { url: UPSTREAM, ...(UPSTREAM_TOKEN && { token: UPSTREAM_TOKEN }) };
}
