import { type GatewayOptions, tenantSecret } from 'mcp-listen/cloudflare';
import { listOf } from './settings.js';

/**
 * The tenants of the gateway: `TENANTS` says how requests name them, `TENANT_NAMES` which there
 * are. Each has a bus, and a secret of publishers that is derived from `PUBLISH_TOKEN`.
 *
 * @throws Error where these variables do not go together: a gateway that is misconfigured does not
 * start.
 */
export function tenancy(variables: Cloudflare.Env): Pick<GatewayOptions, 'bus' | 'secret'> {
  const { PUBLISH_TOKEN, TENANT_NAMES = '', TENANTS = '', UPSTREAM, UPSTREAM_TOKEN } = variables;
  const names = listOf(TENANT_NAMES);
  if (TENANTS === '' && names.length === 0) return PUBLISH_TOKEN ? { secret: PUBLISH_TOKEN } : {};
  if (TENANTS !== 'host' && TENANTS !== 'path')
    throw new Error('TENANTS has to be "host" or "path"');
  if (names.length === 0 || !names.every((name) => NAMES[TENANTS].test(name))) {
    throw new Error(
      `TENANT_NAMES has to list the tenants, each as a ${TENANTS} names it, with commas between them`,
    );
  }
  if (!UPSTREAM) throw new Error('TENANTS is for a gateway: UPSTREAM is missing');
  if (UPSTREAM_TOKEN)
    throw new Error(
      'UPSTREAM_TOKEN and TENANTS exclude each other: all tenants would watch with one token',
    );
  const known = new Set(TENANTS === 'host' ? names.map((name) => name.toLowerCase()) : names);
  return {
    bus: (request) => {
      const name = NAMED_BY[TENANTS](new URL(request.url));
      return name !== undefined && known.has(name) ? name : undefined;
    },
    ...(PUBLISH_TOKEN && { secret: (bus: string) => tenantSecret(PUBLISH_TOKEN, bus) }),
  };
}

const NAMED_BY = {
  host: ({ hostname }: URL): string | undefined => hostname,
  path: ({ pathname }: URL): string | undefined => /^\/([^/]+)\/(mcp|publish)$/.exec(pathname)?.[1],
};
const NAMES = { host: /^[\w-][\w.-]{0,252}$/, path: /^\w[\w.-]{0,99}$/ };
