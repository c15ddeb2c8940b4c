import { isSameBytes } from '../web/bearer.js';
import { hmacSha256 } from '../web/digest.js';
import { bytesOfBase64, bytesOfSecret } from './secret.js';

/** The parts of a message that its signature covers (Standard Webhooks). */
export interface SignedParts {
  /** `webhook-id`: the same in every attempt to deliver the message. */
  id: string;
  /** `webhook-timestamp`: when this attempt was made, in seconds since 1970. */
  timestamp: string;
  /** The body as it is sent. */
  body: Uint8Array<ArrayBuffer>;
}

/**
 * Returns the value of `webhook-signature`: for each secret `v1,` and the HMAC-SHA256 of
 * `id.timestamp.body` in base64, separated by spaces.
 *
 * @throws TypeError for a malformed secret.
 */
export async function signatures(secrets: readonly string[], parts: SignedParts): Promise<string> {
  const content = await contentOf(parts);
  const each = secrets.map(async (secret) => {
    const digest = await digestOf(secret, content);
    return `${VERSION}${btoa(String.fromCharCode(...digest))}`;
  });
  return (await Promise.all(each)).join(' ');
}

/**
 * Returns the first of the secrets with which one of the signatures in `field`, the value of
 * `webhook-signature`, was made; undefined if there is none. Compares in constant time.
 *
 * @throws TypeError for a malformed secret.
 */
export async function signer(
  secrets: readonly string[],
  parts: SignedParts,
  field: string,
): Promise<string | undefined> {
  const content = await contentOf(parts);
  const given = field.split(' ').flatMap((text) => digestIn(text) ?? []);
  for (const secret of secrets) {
    const digest = await digestOf(secret, content);
    if (given.some((one) => isSameBytes(one, digest))) return secret;
  }
  return undefined;
}

async function digestOf(secret: string, content: ArrayBuffer): Promise<Uint8Array> {
  const bytes = bytesOfSecret(secret);
  if (bytes === undefined) throw new TypeError('a webhook secret is malformed');
  return hmacSha256(bytes, content);
}

function contentOf({ body, id, timestamp }: SignedParts): Promise<ArrayBuffer> {
  return new Blob([`${id}.${timestamp}.`, body]).arrayBuffer();
}

/** Returns the digest of one signature; undefined for other versions and malformed text. */
function digestIn(signature: string): Uint8Array | undefined {
  if (!signature.startsWith(VERSION)) return undefined;
  const digest = bytesOfBase64(signature.slice(VERSION.length));
  return digest?.length === DIGEST_BYTES ? digest : undefined;
}

const VERSION = 'v1,';
const DIGEST_BYTES = 32;
