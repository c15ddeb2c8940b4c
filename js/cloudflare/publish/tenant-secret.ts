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
  const key = await crypto.subtle.importKey('raw', ENCODER.encode(token), HMAC, false, ['sign']);
  const digest = await crypto.subtle.sign(
    'HMAC',
    key,
    ENCODER.encode(`mcp-listen publish ${busName}`),
  );
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const ENCODER = new TextEncoder();
const HMAC = { name: 'HMAC', hash: 'SHA-256' };
