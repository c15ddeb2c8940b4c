import { env } from 'cloudflare:workers';
import {
  createGateway,
  type GatewayOptions,
  SubscriptionBus as PlainBus,
} from 'mcp-listen/cloudflare';
import { type Upstream, watchUpstream } from 'mcp-listen/cloudflare/watch';
import { eventLog } from 'mcp-listen/events';
import { settings } from './settings.js';
import { tenancy } from './tenants.js';

const {
  CREDENTIAL_HEADERS,
  MCP_BUS,
  TENANTS,
  UNKNOWN_METHOD,
  UPSTREAM,
  UPSTREAM_RIGHTS,
  UPSTREAM_TOKEN,
  UPSTREAM_WATCH,
} = env;

// Judged without a server behind, too: tenants of a notebook would be a mistake.
const tenants = tenancy(env);

/** What callers receive; see docs/gateway.md, Rights. */
const rights = oneOf('UPSTREAM_RIGHTS', UPSTREAM_RIGHTS, ['acknowledged', 'admitted']);
const isWatching = oneOf('UPSTREAM_WATCH', UPSTREAM_WATCH, ['on', 'off']) !== 'off';

/**
 * Stands in front of the MCP server at UPSTREAM; undefined: there is none, and the notebook is
 * served.
 */
export const gate = UPSTREAM ? createGateway(UPSTREAM, MCP_BUS, gateOptions()) : undefined;

/** The bus of both: behind a gateway it watches the server, too. */
export class SubscriptionBus extends PlainBus {
  static override watcher = watchUpstream(watched);
  static override events = eventLog();
}

function gateOptions(): GatewayOptions {
  return {
    ...tenants,
    listen: settings.front,
    rights: rightsOfCallers(),
    credentialHeaders: CREDENTIAL_HEADERS
      ? CREDENTIAL_HEADERS.split(',').map((name) => name.trim())
      : [],
    admitsUnknownMethod:
      oneOf('UNKNOWN_METHOD', UNKNOWN_METHOD, ['refused', 'admitted']) === 'admitted',
  };
}

/**
 * Without a token the watch receives only what the server sends to callers without credentials. Of
 * tenants, only the server knows who belongs to which.
 */
function rightsOfCallers(): 'acknowledged' | 'admitted' {
  return rights ?? (UPSTREAM_TOKEN || TENANTS ? 'acknowledged' : 'admitted');
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
