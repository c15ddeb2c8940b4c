import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { EndpointError } from '../endpoint-error.js';
import { loadSdk } from '../load-sdk.js';
import { type Access, tokenIn } from './access.js';
import { PENDING, SignInMemory, storedAt } from './memory.js';

/**
 * Access to an endpoint by OAuth: what the official client needs to register this page, to send
 * the user to the authorization server and to redeem the code. What it stores stays in this tab.
 */
export class SignIn implements OAuthClientProvider, Access {
  readonly url: URL;
  /** A document of this page that describes it to authorization servers, which read it by HTTPS. */
  readonly clientMetadataUrl?: string;
  readonly #memory: SignInMemory;
  #mayLeave: boolean;
  /** The token that was refused last. */
  #refused: string | undefined;

  /** @param mayLeave - whether the user is sent to the authorization server if that is needed. */
  constructor(url: URL, mayLeave: boolean) {
    this.url = url;
    this.#memory = new SignInMemory(url);
    this.#mayLeave = mayLeave;
    if (location.protocol === 'https:') this.clientMetadataUrl = `${this.redirectUrl}client.json`;
  }

  /** Whether the user has signed in to an endpoint in this tab. */
  static isKnown(url: URL): boolean {
    return new SignInMemory(url).read().tokens !== undefined;
  }

  /**
   * Returns the sign-in that ends with this load of the page, and the parameters from the
   * authorization server, which are removed from the address; undefined if none ends.
   */
  static returned(): { signIn: SignIn; params: URLSearchParams } | undefined {
    const params = new URLSearchParams(location.search);
    const state = params.get('state');
    const url = storedAt(PENDING);
    if (state === null || url === null) return undefined;
    sessionStorage.removeItem(PENDING);
    history.replaceState(null, '', location.pathname + location.hash);
    const signIn = new SignIn(new URL(url), false);
    return signIn.#memory.read().state === state ? { signIn, params } : undefined;
  }

  get provider(): OAuthClientProvider {
    return this;
  }

  get redirectUrl(): string {
    return location.origin + location.pathname;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'mcp-listen console',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  /** Returns a token; the client of subscriptions asks again when one was refused. */
  readonly token = async (): Promise<string> => {
    const token = (await this.tokens())?.access_token ?? '';
    return token === this.#refused ? this.renewed(token) : token;
  };

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const response = await fetch(request);
    if (response.status === 401) this.#refused = tokenIn(request.headers);
    return response;
  };

  /** Several requests may be refused at the same time: only the first refreshes the token. */
  readonly renewed = async (refused: string): Promise<string> => {
    if (this.#current === refused) await this.#refresh();
    return this.#current;
  };

  readonly stay = (): void => {
    this.#mayLeave = false;
  };

  /** Forgets the tokens, so that the user signs in again. */
  forget(): void {
    this.invalidateCredentials('tokens');
  }

  /**
   * Returns the tokens. For requests to the endpoint, those that expire are refreshed before; the
   * client itself asks with the issuer, and refreshes after a 401.
   */
  async tokens(issuer?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
    const { expiresAt = Number.POSITIVE_INFINITY, tokens } = this.#memory.read();
    if (issuer !== undefined || tokens?.refresh_token === undefined) return tokens;
    if (Date.now() > expiresAt - LEEWAY_MS) await this.#refresh();
    return this.#memory.read().tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    const { expires_in: seconds } = tokens;
    const expiresAt = seconds === undefined ? undefined : Date.now() + seconds * 1_000;
    this.#memory.write({ tokens, expiresAt, verifier: undefined, state: undefined });
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#memory.read().client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#memory.write({ client });
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#memory.read().discovery;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#memory.write({ discovery });
  }

  state(): string {
    const state = crypto.randomUUID();
    this.#memory.write({ state });
    return state;
  }

  saveCodeVerifier(verifier: string): void {
    this.#memory.write({ verifier });
  }

  codeVerifier(): string {
    return this.#memory.read().verifier ?? '';
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    this.#memory.forget(scope);
  }

  redirectToAuthorization(to: URL): never {
    if (!this.#mayLeave) throw new EndpointError('unauthorized', SIGN_IN_AGAIN, { status: 401 });
    sessionStorage.setItem(PENDING, this.url.href);
    location.assign(to);
    throw new EndpointError('unauthorized', `Continue at ${to.host}.`, { status: 401 });
  }

  get #current(): string {
    return this.#memory.read().tokens?.access_token ?? '';
  }

  /** Refreshes the tokens once for all that wait for them: a refresh token may be used once. */
  #refresh(): Promise<unknown> {
    const { href } = this.url;
    const refreshed =
      REFRESHES.get(href) ??
      loadSdk()
        .then(({ auth }) => auth(this, { serverUrl: this.url }))
        .finally(() => REFRESHES.delete(href));
    REFRESHES.set(href, refreshed);
    return refreshed;
  }
}

const SIGN_IN_AGAIN = 'Sign in again: the endpoint no longer accepts the token (401).';
/** Milliseconds before its end at which a token is refreshed. */
const LEEWAY_MS = 5_000;
/** The refreshes under way, by endpoint: its subscriptions may have an earlier sign-in. */
const REFRESHES = new Map<string, Promise<unknown>>();
