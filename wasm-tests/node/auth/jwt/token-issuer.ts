import {
  type CryptoKey,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTVerifyGetKey,
  SignJWT,
} from 'jose';
import { served } from '../../../host/http-server.ts';

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'https://mcp.example/mcp';
/** What callers may receive by default. */
export const RIGHTS = {
  toolsListChanged: true,
  resourceSubscriptions: ['note://a', 'note://ann/*'],
};

/** An authorization server that publishes its keys over HTTP, and signs any claims. */
export interface TokenIssuer {
  /** The URL of its keys. */
  jwks: string;
  /** The keys that it publishes. */
  keys: JWK[];
  /** Finds the key of a token without a request. */
  find: JWTVerifyGetKey;
  /** How often its keys were requested. */
  asked: number;
  /** The response to send instead of them. */
  instead?: { status: number; body: string };
  /** What it waits for before it responds. */
  held?: Promise<void>;
  /** Replaces its key. */
  rotate(kid: string): Promise<void>;
  /** A token that is valid for a minute, with these claims changed; `undefined` removes one. */
  token(claims?: object, header?: object): Promise<string>;
}

/** An issuer with a key `first`, until the test ends. */
export async function tokenIssuer(algorithm = 'ES256'): Promise<TokenIssuer> {
  let key: CryptoKey;
  const origin = await served(async (_, response) => {
    issuer.asked += 1;
    await issuer.held;
    const { body, status } = issuer.instead ?? {
      status: 200,
      body: JSON.stringify({ keys: issuer.keys }),
    };
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  const issuer: TokenIssuer = {
    jwks: `${origin}/jwks.json`,
    keys: [],
    find: (header, token) => createLocalJWKSet({ keys: issuer.keys })(header, token),
    asked: 0,
    rotate: async (kid) => {
      const pair = await generateKeyPair(algorithm, { extractable: true });
      key = pair.privateKey;
      issuer.keys = [{ ...(await exportJWK(pair.publicKey)), kid }];
    },
    token: (claims, header) =>
      new SignJWT(claimsOf(claims))
        .setProtectedHeader({ alg: algorithm, kid: issuer.keys[0]?.kid ?? '', ...header })
        // An extension that no verifier knows.
        .sign(key, { crit: { x: true } }),
  };
  await issuer.rotate('first');
  return issuer;
}

/** The claims of a valid token, with these changed. */
export function claimsOf(claims: object = {}): Record<string, unknown> {
  const valid = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: seconds(60), 'mcp.listen': RIGHTS };
  return { ...valid, ...claims };
}

/** The time `later` seconds from now, in seconds since 1970. */
export function seconds(later: number): number {
  return Math.floor(Date.now() / 1_000) + later;
}
