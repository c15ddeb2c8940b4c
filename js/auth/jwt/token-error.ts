/**
 * Returns the error description for the caller if its token caused an error of `jose`; undefined if
 * the source of the keys caused it.
 */
export function tokenErrorOf(error: unknown): string | undefined {
  const { claim, code } = error as { claim?: unknown; code?: unknown };
  if (!TOKEN_ERRORS.has(code)) return undefined;
  if (code === 'ERR_JWT_EXPIRED') return 'The token has expired';
  return CLAIM_ERRORS.get(claim) ?? 'The token is not valid';
}

const TOKEN_ERRORS = new Set<unknown>([
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
]);

const CLAIM_ERRORS = new Map<unknown, string>([
  ['aud', 'The token is for another audience'],
  ['exp', 'The token has no expiration time'],
  ['iss', 'The token was issued by another issuer'],
  ['nbf', 'The token is not valid yet'],
  ['sub', 'The token has no subject'],
  ['typ', 'The token has another type'],
]);
