import { createHmac } from 'node:crypto';
import { OPERATOR, SECRET } from './secret.ts';

export { OPERATOR, SECRET };

/** The header fields of a publish in JSON with the secret as its bearer token. */
export const BEARER = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' };

/** The header fields of a request in JSON with the token of operators. */
export const OPERATOR_BEARER = { ...BEARER, authorization: `Bearer ${OPERATOR}` };

/** The input of a signature. */
export interface Signing {
  body: string;
  bus?: string;
  key?: string;
  method?: string;
  secret?: string;
  /** The age of the signature in seconds. Default: 0. */
  agoSeconds?: number;
  /** The present, in milliseconds since 1970. Default: now. */
  at?: number;
}

/** The header fields of a signed publish. */
export function signedFields(signing: Signing): Record<string, string> {
  const {
    agoSeconds = 0,
    at = Date.now(),
    body,
    bus = 'mcp-listen',
    key,
    method = 'POST',
    secret = SECRET,
  } = signing;
  const timestamp = String(Math.floor(at / 1_000) - agoSeconds);
  const text = [method, bus, timestamp, key ?? '', body].join('\n');
  return {
    'content-type': 'application/json',
    'mcp-listen-timestamp': timestamp,
    'mcp-listen-signature': `v2=${createHmac('sha256', secret).update(text).digest('hex')}`,
    ...(key !== undefined && { 'idempotency-key': key }),
  };
}

/** The secret of a tenant of the deployed Worker. */
export function tenantSecret(bus: string, token = SECRET): string {
  return createHmac('sha256', token).update(`mcp-listen publish ${bus}`).digest('hex');
}
