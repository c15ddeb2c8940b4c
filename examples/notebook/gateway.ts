import { env } from 'cloudflare:workers';
import { type BusName, gateway, SubscriptionBus as PlainBus } from 'mcp-listen/cloudflare';
import { type Upstream, watchUpstream } from 'mcp-listen/cloudflare/watch';

const { MCP_BUS, PUBLISH_TOKEN, TENANTS, UPSTREAM, UPSTREAM_TOKEN, UPSTREAM_WATCH } = env;

/** How tenants are told apart: by the host that they ask for, or by what stands before `/mcp`. */
const BUS_NAMES: Partial<Record<string, BusName>> = {
  host: (request) => `host ${new URL(request.url).hostname}`,
  path: (request) => /^\/([\w.-]+)\/\w+$/.exec(new URL(request.url).pathname)?.[1],
};

/** Stands in front of the MCP server at UPSTREAM; undefined: there is none, and the notebook is served. */
export const gate = UPSTREAM ? gateway(UPSTREAM, MCP_BUS, gateOptions()) : undefined;

/** The bus of both: behind a gateway it watches the server, too. */
export class SubscriptionBus extends PlainBus {
  static override watcher = watchUpstream(watched);
}

function gateOptions() {
  const busName = BUS_NAMES[TENANTS ?? ''];
  return { ...(busName && { busName }), ...(PUBLISH_TOKEN && { publishSecret: PUBLISH_TOKEN }) };
}

function watched(): Upstream | undefined {
  if (!UPSTREAM || UPSTREAM_WATCH === 'off') return undefined;
  return { url: UPSTREAM, ...(UPSTREAM_TOKEN && { token: UPSTREAM_TOKEN }) };
}
