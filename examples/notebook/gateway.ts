import { env } from 'cloudflare:workers';
import {
  createGateway,
  type GatewayOptions,
  SubscriptionBus as PlainBus,
} from 'mcp-listen/cloudflare';
import { type Upstream, watchUpstream } from 'mcp-listen/cloudflare/watch';
import { type DefinedEvents, defineEvents, type EventLogMaker, eventLog } from 'mcp-listen/events';
import { log } from './events.js';
import { settings } from './settings.js';
import { tenancy } from './tenants.js';

const {
  CREDENTIAL_HEADERS,
  EVENTS,
  EVENTS_RIGHTS,
  MCP_BUS,
  SUBREQUESTS,
  TENANTS,
  UNKNOWN_METHOD,
  UPSTREAM,
  UPSTREAM_RIGHTS,
  UPSTREAM_TOKEN,
  UPSTREAM_WATCH,
  WEBHOOK_KEY,
} = env;

// Also checked without an upstream server: a notebook cannot have tenants.
const tenants = tenancy(env);

/** What callers may receive; see docs/gateway-rights.md. */
const rights = oneOf('UPSTREAM_RIGHTS', UPSTREAM_RIGHTS, ['acknowledged', 'admitted']);
const isWatching = oneOf('UPSTREAM_WATCH', UPSTREAM_WATCH, ['on', 'off']) !== 'off';

/** The event types that the gateway serves; see docs/gateway-events.md. */
const events = eventTypes();

/** The gateway to the MCP server at UPSTREAM; undefined without one: the notebook is served. */
export const gateway = UPSTREAM ? createGateway(UPSTREAM, MCP_BUS, gateOptions()) : undefined;

/** The bus of the notebook or the gateway. For a gateway it also watches the upstream server. */
export class SubscriptionBus extends PlainBus {
  static override watcher = watchUpstream(watchedServer);
  static override events = UPSTREAM ? gatewayLog() : log;
}

/** The log of the gateway's bus, which delivers to webhooks if there is a key for their secrets. */
function gatewayLog(): EventLogMaker {
  return eventLog(WEBHOOK_KEY && events ? { webhooks: events } : {});
}

function gateOptions(): GatewayOptions {
  return {
    ...tenants,
    listen: settings.screening,
    rights: rightsOfCallers(),
    ...(events && { events }),
    credentialHeaders: CREDENTIAL_HEADERS
      ? CREDENTIAL_HEADERS.split(',').map((name) => name.trim())
      : [],
    admitsUnknownMethod:
      oneOf('UNKNOWN_METHOD', UNKNOWN_METHOD, ['refused', 'admitted']) === 'admitted',
    ...(SUBREQUESTS && { subrequests: Number(SUBREQUESTS) }),
  };
}

/**
 * Returns what callers may receive. Without a token, the watch receives only what the server sends
 * to callers without credentials. With tenants, only the server knows whose caller it is.
 */
function rightsOfCallers(): 'acknowledged' | 'admitted' {
  return rights ?? (UPSTREAM_TOKEN || TENANTS ? 'acknowledged' : 'admitted');
}

/** Returns the event types that a variable lists as JSON; throws if they are invalid. */
function eventTypes(): DefinedEvents | undefined {
  if (!EVENTS) {
    if (WEBHOOK_KEY) throw new Error('WEBHOOK_KEY requires EVENTS');
    if (EVENTS_RIGHTS) throw new Error('EVENTS_RIGHTS requires EVENTS');
    return undefined;
  }
  const allowInsecureLocalhost = settings.hasDemoCallers;
  const options = {
    ...(oneOf('EVENTS_RIGHTS', EVENTS_RIGHTS, ['admitted']) && { authorize: () => true }),
    ...(WEBHOOK_KEY && { webhooks: { allowInsecureLocalhost, encryptionKey: WEBHOOK_KEY } }),
  };
  try {
    return defineEvents(JSON.parse(EVENTS), options);
  } catch (error) {
    throw new Error(`EVENTS must list event types as JSON: ${(error as Error).message}`);
  }
}

function watchedServer(): Upstream | undefined {
  if (!UPSTREAM || !isWatching) return undefined;
  const tasks = rightsOfCallers() === 'acknowledged';
  return { url: UPSTREAM, tasks, ...(UPSTREAM_TOKEN && { token: UPSTREAM_TOKEN }) };
}

/** Returns a variable that must have one of these values or be unset; throws otherwise. */
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
