import { ListenError } from '../model/error.js';
import { sha256 } from './digest.js';

/**
 * Returns whether a request has `Authorization: Bearer <secret>`. All bytes of digests are
 * compared, so the duration does not reveal how much of a guess is right.
 */
export async function hasBearerToken(request: Request, secret: string): Promise<boolean> {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return isSameSecret(token, secret);
}

/** Returns whether a value is a secret that is long enough. */
export function isLongSecret(secret: unknown): secret is string {
  return (
    typeof secret === 'string' && new TextEncoder().encode(secret).byteLength >= MIN_SECRET_BYTES
  );
}

/**
 * Checks that a bearer token of the options is long enough.
 *
 * @throws ListenError `invalid-options`.
 */
export function expectToken(token: unknown): void {
  if (isLongSecret(token)) return;
  throw new ListenError('invalid-options', `token must have at least ${MIN_SECRET_BYTES} bytes`);
}

/** Returns whether two texts are equal. Compares their digests in constant time. */
export async function isSameSecret(given: string, wanted: string): Promise<boolean> {
  const [one, other] = await Promise.all([sha256(given), sha256(wanted)]);
  return isSameBytes(one, other);
}

/** Returns whether two digests of the same length are equal. Compares in constant time. */
export function isSameBytes(given: Uint8Array, wanted: Uint8Array): boolean {
  return (
    given.reduce((difference, byte, index) => difference | (byte ^ (wanted[index] ?? 0)), 0) === 0
  );
}

/** Minimum bytes of a secret: 128 bits if they are random. */
export const MIN_SECRET_BYTES = 16;
