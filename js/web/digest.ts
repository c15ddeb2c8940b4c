/** Returns the SHA-256 of bytes, or of text in UTF-8. */
export async function sha256(content: string | BufferSource): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(content)));
}

/** Returns the HMAC-SHA256 of bytes, or of text in UTF-8, with this key. */
export async function hmacSha256(
  key: string | BufferSource,
  content: string | BufferSource,
): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', bytesOf(key), HMAC, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytesOf(content)));
}

function bytesOf(content: string | BufferSource): BufferSource {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' };
