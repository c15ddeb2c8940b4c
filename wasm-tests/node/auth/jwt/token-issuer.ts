import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { served } from '../../../host/http-server.ts';

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'https://mcp.example/mcp';
/** What callers may hear unless a test says otherwise. */
export const RIGHTS = {
  toolsListChanged: true,
  resourceSubscriptions: ['note://a', 'note://ann/*'],
};

/**
 * An authorization server: it publishes its keys on a port of its own, and signs whatever it is
 * told to.
 */
export interface TokenIssuer {
  /** Where its keys are. */
  jwks: string;
  /** What it publishes. */
  keys: JWK[];
  /** How often its keys were asked for. */
  asked: number;
  /** What answers instead of them. */
  instead?: { status: number; body: string };
  /** Whether it takes requests and says nothing. */
  isSilent?: boolean;
  /** Signs with a new key from now on, which is published alone. */
  rotate(kid: string): Promise<void>;
  /** A token that is good for a minute but for these claims; `undefined` takes one away. */
  token(claims?: object, header?: object): Promise<string>;
}

/** An issuer with a key `first`, until the test ends. */
export async function tokenIssuer(algorithm = 'ES256'): Promise<TokenIssuer> {
  let key: CryptoKey;
  const origin = await served((_, response) => {
    issuer.asked += 1;
    if (issuer.isSilent) return;
    const { body, status } = issuer.instead ?? {
      status: 200,
      body: JSON.stringify({ keys: issuer.keys }),
    };
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  const issuer: TokenIssuer = {
    jwks: `${origin}/jwks.json`,
    keys: [],
    asked: 0,
    rotate: async (kid) => {
      const pair = await generateKeyPair(algorithm, { extractable: true });
      key = pair.privateKey;
      issuer.keys = [{ ...(await exportJWK(pair.publicKey)), kid }];
    },
    token: (claims, header) =>
      new SignJWT(claimsOf(claims))
        .setProtectedHeader({ alg: algorithm, kid: issuer.keys[0]?.kid ?? '', ...header })
        // Some extension that those who verify do not know.
        .sign(key, { crit: { x: true } }),
  };
  await issuer.rotate('first');
  return issuer;
}

/** The claims of a good token but for these. */
export function claimsOf(claims: object = {}): Record<string, unknown> {
  const good = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: seconds(60), 'mcp.listen': RIGHTS };
  return { ...good, ...claims };
}

/** So many seconds from now, as tokens have it. */
export function seconds(later: number): number {
  return Math.floor(Date.now() / 1_000) + later;
}
