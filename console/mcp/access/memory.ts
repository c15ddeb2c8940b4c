import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

/** What a tab remembers of a sign-in. */
interface Remembered {
  client?: StoredOAuthClientInformation | undefined;
  discovery?: OAuthDiscoveryState | undefined;
  /** When the access token expires, in milliseconds since 1970; undefined: unknown. */
  expiresAt?: number | undefined;
  /** What the authorization server has to return. */
  state?: string | undefined;
  tokens?: StoredOAuthTokens | undefined;
  /** The secret of PKCE. */
  verifier?: string | undefined;
}

/** What a tab remembers of the sign-in to one endpoint: until the tab closes, for no other tab. */
export class SignInMemory {
  readonly #key: string;

  constructor(url: URL) {
    this.#key = `${PREFIX} ${url.href}`;
  }

  read(): Remembered {
    return JSON.parse(storedAt(this.#key) ?? '{}') as Remembered;
  }

  /** Changes these members; undefined forgets one. */
  write(changes: Remembered): void {
    sessionStorage.setItem(this.#key, JSON.stringify({ ...this.read(), ...changes }));
  }

  forget(what: keyof Remembered | 'all'): void {
    if (what === 'all') sessionStorage.removeItem(this.#key);
    else this.write({ [what]: undefined });
  }
}

/** Returns what the tab has stored with a key; null if that is nothing, or storage is blocked. */
export function storedAt(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

const PREFIX = 'mcp-listen-console sign-in';
/** The key of the URL to which the user signs in at the moment. */
export const PENDING = `${PREFIX} pending`;
