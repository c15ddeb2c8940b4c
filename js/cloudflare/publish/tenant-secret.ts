import { hmacSha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';

/**
 * Derives the secret of the publishers of one bus from a token that the operator keeps: the
 * HMAC-SHA256 of `mcp-listen publish <bus name>` with `token`, in 64 hexadecimal digits. Each
 * tenant has a different secret, and none of them is stored. In a shell:
 *
 * `printf 'mcp-listen publish acme' | openssl dgst -sha256 -hmac "$PUBLISH_TOKEN"`
 *
 * @example
 * ```ts
 * const secret = await tenantSecret(env.PUBLISH_TOKEN, 'acme');
 * ```
 */
export async function tenantSecret(token: string, busName: string): Promise<string> {
  return hex(await hmacSha256(token, `mcp-listen publish ${busName}`));
}
