import { type GatewayOptions, tenantSecret } from 'mcp-listen/cloudflare';
import { listOf } from './settings.js';

/**
 * Returns the tenants of the gateway. `TENANTS` says how requests identify them, and `TENANT_NAMES`
 * lists them. Each has its own bus, and a publish secret that is derived from `PUBLISH_TOKEN`.
 *
 * @throws Error if these variables contradict each other, so that a misconfigured gateway does not
 * start.
 */
export function tenancy(variables: Cloudflare.Env): Pick<GatewayOptions, 'bus' | 'secret'> {
  const { PUBLISH_TOKEN, TENANT_NAMES = '', TENANTS = '', UPSTREAM, UPSTREAM_TOKEN } = variables;
  const names = listOf(TENANT_NAMES);
  if (TENANTS === '' && names.length === 0) return PUBLISH_TOKEN ? { secret: PUBLISH_TOKEN } : {};
  if (TENANTS !== 'host' && TENANTS !== 'path') throw new Error('TENANTS must be "host" or "path"');
  if (names.length === 0 || !names.every((name) => NAME_PATTERNS[TENANTS].test(name))) {
    throw new Error(
      `TENANT_NAMES must list the tenants, each as in the ${TENANTS}, separated by commas`,
    );
  }
  if (!UPSTREAM) throw new Error('TENANTS requires a gateway: UPSTREAM is missing');
  if (UPSTREAM_TOKEN)
    throw new Error(
      'UPSTREAM_TOKEN and TENANTS exclude each other: one token would watch for all tenants',
    );
  const known = new Set(TENANTS === 'host' ? names.map((name) => name.toLowerCase()) : names);
  return {
    bus: (request) => {
      const name = TENANT_OF[TENANTS](new URL(request.url));
      return name !== undefined && known.has(name) ? name : undefined;
    },
    ...(PUBLISH_TOKEN && { secret: (bus: string) => tenantSecret(PUBLISH_TOKEN, bus) }),
  };
}

const TENANT_OF = {
  host: ({ hostname }: URL): string | undefined => hostname,
  path: ({ pathname }: URL): string | undefined => /^\/([^/]+)\/(mcp|publish)$/.exec(pathname)?.[1],
};
const NAME_PATTERNS = { host: /^[\w-][\w.-]{0,252}$/, path: /^\w[\w.-]{0,99}$/ };
