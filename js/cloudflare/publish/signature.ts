import { hasBearerToken, isSameSecret } from '../../web/bearer.js';
import { hmacSha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';
import { WINDOW_MS } from '../wire/publish.js';
import { PublishError } from './errors.js';

/** Header field with the time at which a publish was signed, in seconds since 1970. */
export const TIMESTAMP_HEADER = 'mcp-listen-timestamp';
/**
 * Header field with the signature of a publish: `v2=` and the HMAC-SHA256, in hexadecimal digits,
 * of the method, the name of the bus, the timestamp, the idempotency key (empty without one) and
 * the body, separated by line feeds.
 */
export const SIGNATURE_HEADER = 'mcp-listen-signature';

/**
 * The proof that a sender knows the secret. A bearer token can be verified before the body is read.
 */
export interface Signature {
  /**
   * The signature as it was sent, in lower case; undefined if the request has a bearer token or
   * neither.
   */
  signature: string | undefined;
  /**
   * Whether the proof was made with this secret; compared in constant time. `body` is the signed
   * body, the same in each call.
   */
  isOf: (secret: string, body: Uint8Array<ArrayBuffer>) => Promise<boolean>;
}

/**
 * Returns the proof of a request after checking its form and freshness. Reads nothing of the body.
 *
 * @throws PublishError `unauthorized` or `stale-timestamp`.
 */
export function signatureOf(request: Request, busName: string, acceptsV1: boolean): Signature {
  const { headers, method } = request;
  const signature = headers.get(SIGNATURE_HEADER)?.toLowerCase();
  if (signature === undefined)
    return { signature, isOf: (secret) => hasBearerToken(request, secret) };
  const [, version, digits = ''] = /^(v[12])=([0-9a-f]{64})$/.exec(signature) ?? [];
  const timestamp = headers.get(TIMESTAMP_HEADER) ?? '';
  const isKnown = version === 'v2' || (version === 'v1' && acceptsV1);
  if (!isKnown || !/^\d{1,15}$/.test(timestamp)) throw new PublishError('unauthorized');
  if (Math.abs(Date.now() - Number(timestamp) * 1_000) > WINDOW_MS)
    throw new PublishError('stale-timestamp');
  const key = headers.get('idempotency-key') ?? '';
  const prefix =
    version === 'v1' ? `${timestamp}.` : [method, busName, timestamp, key, ''].join('\n');
  // One copy for all secrets that are tried.
  let content: Promise<ArrayBuffer> | undefined;
  return {
    signature,
    isOf: async (secret, body) => {
      content ??= new Blob([prefix, body]).arrayBuffer();
      return isSameSecret(digits, hex(await hmacSha256(secret, await content)));
    },
  };
}
