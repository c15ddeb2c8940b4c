/**
 * Returns a new secret for `delivery.secret` of a subscription: `whsec_` and 32 random bytes in
 * base64.
 *
 * @example
 * ```ts
 * const delivery = { mode: 'webhook', url, secret: generateWebhookSecret() };
 * ```
 */
export function generateWebhookSecret(): string {
  return `${PREFIX}${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

/** Returns the bytes of a secret; undefined if it is not `whsec_` and 24 to 64 bytes in base64. */
export function bytesOfSecret(secret: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof secret !== 'string' || !secret.startsWith(PREFIX)) return undefined;
  const bytes = bytesOfBase64(secret.slice(PREFIX.length));
  const isLongEnough = bytes !== undefined && bytes.length >= MIN_BYTES;
  return isLongEnough && bytes.length <= MAX_BYTES ? bytes : undefined;
}

/** Decodes base64 with or without padding; returns undefined if the text is not base64. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

const PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
/** Bytes of a secret, from 192 to 512 bits (Standard Webhooks, Signature scheme). */
const MIN_BYTES = 24;
const MAX_BYTES = 64;
