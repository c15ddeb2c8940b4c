import { isSameSecret } from '../../web/bearer.js';
import { hmacSha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';

/**
 * Appends to the random id of a session its MAC, an HMAC-SHA-256 with the key of the bus object:
 * `<random>.<mac>`. An edge that has the key refuses forged ids without a call.
 */
export async function signedSessionId(key: string, bus: string, random: string): Promise<string> {
  return `${random}.${hex(await hmacSha256(key, `session ${random} ${bus}`))}`;
}

/** Whether an id has the form that {@link signedSessionId} returns. */
export function isSessionId(id: string): boolean {
  return FORM.test(id);
}

/**
 * Whether {@link signedSessionId} created the id for this bus with this key; compared in constant
 * time.
 */
export async function isSignedSessionId(key: string, bus: string, id: string): Promise<boolean> {
  const [random = ''] = id.split('.');
  return isSameSecret(id, await signedSessionId(key, bus, random));
}

/** A UUID and 256 bits, in hexadecimal digits. */
const FORM = /^[0-9a-f-]{36}\.[0-9a-f]{64}$/;
