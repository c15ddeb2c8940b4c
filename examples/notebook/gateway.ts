import { env } from 'cloudflare:workers';
import { type BusName, type GatewayOptions, gateway, SubscriptionBus as PlainBus } from 'mcp-listen/cloudflare';
import { type Upstream, watchUpstream } from 'mcp-listen/cloudflare/watch';

const { MCP_BUS, PUBLISH_TOKEN, TENANTS, UPSTREAM, UPSTREAM_TOKEN, UPSTREAM_WATCH } = env;
const { CREDENTIAL_HEADERS, UNKNOWN_METHOD, UPSTREAM_RIGHTS } = env;

/** How tenants are told apart: by the host that they ask for, or by what stands before `/mcp`. */
const BUS_NAMES: Partial<Record<string, BusName>> = {
  host: (request) => `host ${new URL(request.url).hostname}`,
  path: (request) => /^\/([\w.-]+)\/\w+$/.exec(new URL(request.url).pathname)?.[1],
};

/** What callers receive; see docs/gateway.md, Rights. */
const rights = oneOf('UPSTREAM_RIGHTS', UPSTREAM_RIGHTS, ['acknowledged', 'admitted']);
const isWatching = oneOf('UPSTREAM_WATCH', UPSTREAM_WATCH, ['on', 'off']) !== 'off';

/** Stands in front of the MCP server at UPSTREAM; undefined: there is none, and the notebook is served. */
export const gate = UPSTREAM ? gateway(UPSTREAM, MCP_BUS, gateOptions()) : undefined;

/** The bus of both: behind a gateway it watches the server, too. */
export class SubscriptionBus extends PlainBus {
  static override watcher = watchUpstream(watched);
}

function gateOptions(): GatewayOptions {
  const busName = BUS_NAMES[TENANTS ?? ''];
  if (TENANTS && UPSTREAM_TOKEN) throw new Error('TENANTS and UPSTREAM_TOKEN: tenants do not share a token');
  return {
    ...(busName && { busName }),
    ...(PUBLISH_TOKEN && { publishSecret: PUBLISH_TOKEN }),
    rights: rightsOfCallers(),
    credentialHeaders: CREDENTIAL_HEADERS?.split(',').map((name) => name.trim()) ?? [],
    admitsUnknownMethod: oneOf('UNKNOWN_METHOD', UNKNOWN_METHOD, ['refused', 'admitted']) === 'admitted',
  };
}

/** Without a token the watch receives only what the server sends to callers without credentials. */
function rightsOfCallers(): 'acknowledged' | 'admitted' {
  return rights ?? (UPSTREAM_TOKEN ? 'acknowledged' : 'admitted');
}

function watched(): Upstream | undefined {
  if (!UPSTREAM || !isWatching) return undefined;
  const tasks = rightsOfCallers() === 'acknowledged';
  return { url: UPSTREAM, tasks, ...(UPSTREAM_TOKEN && { token: UPSTREAM_TOKEN }) };
}

/** Returns a variable that has one of these values, or is not set; throws for any other value. */
function oneOf<Value extends string>(
  name: string,
  value: string | undefined,
  values: readonly Value[],
): Value | undefined {
  if (!value) return undefined;
  const known = values.find((other) => other === value);
  if (known === undefined) throw new Error(`${name} must be ${values.join(' or ')}`);
  return known;
}
