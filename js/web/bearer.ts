import { sha256 } from './digest.js';

/**
 * Returns whether a request has `Authorization: Bearer <secret>`. All bytes of digests are
 * compared, so the duration does not reveal how much of a guess is right.
 */
export async function hasBearerToken(request: Request, secret: string): Promise<boolean> {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return isSameSecret(token, secret);
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
