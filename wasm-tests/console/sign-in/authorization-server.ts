import { createHash, randomUUID } from 'node:crypto';
import { type NodeServer, serveOnNode } from '../../host/node-http.ts';

/**
 * An authorization server for public clients: it registers them, asks the user on a page, checks
 * PKCE, and lets each code and each refresh token be used once.
 */
export class AuthorizationServer {
  /** The types of the grants that were redeemed. */
  readonly grants: string[] = [];
  readonly #clients = new Map<string, string[]>();
  readonly #codes = new Map<string, Code>();
  readonly #refreshTokens = new Set<string>();
  readonly #tokens = new Set<string>();
  #server: NodeServer | undefined;

  static async start(): Promise<AuthorizationServer> {
    const authorizer = new AuthorizationServer();
    authorizer.#server = await serveOnNode(async (request) => {
      const response =
        request.method === 'OPTIONS' ? new Response() : await authorizer.#respond(request);
      for (const field of ['origin', 'methods', 'headers'])
        response.headers.set(`access-control-allow-${field}`, '*');
      return response;
    });
    return authorizer;
  }

  get issuer(): string {
    return this.#server?.origin ?? '';
  }

  /** Whether a token is valid. */
  accepts(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** Revokes all access tokens; they can be refreshed. */
  revoke(): void {
    this.#tokens.clear();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async #respond(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return Response.json(metadataOf(this.issuer));
      case '/register':
        return this.#register(await request.json());
      case '/authorize':
        return this.#ask(Object.fromEntries(searchParams));
      case '/token':
        return this.#redeem(Object.fromEntries(new URLSearchParams(await request.text())));
      default:
        return new Response(null, { status: 404 });
    }
  }

  #register(client: { redirect_uris: string[] }): Response {
    const id = randomUUID();
    this.#clients.set(id, client.redirect_uris);
    return Response.json({ ...client, client_id: id }, { status: 201 });
  }

  /** Asks the user, on a page with two links. */
  #ask(asked: Fields): Response {
    const { client_id: client = '', code_challenge: challenge = '', redirect_uri: to = '' } = asked;
    if (!this.#clients.get(client)?.includes(to) || asked['code_challenge_method'] !== 'S256')
      return new Response('unknown client', { status: 400 });
    const code = randomUUID();
    this.#codes.set(code, { challenge, client, to });
    const link = (text: string, fields: Fields) => {
      const query = new URLSearchParams({ ...fields, state: asked['state'] ?? '' });
      return `<a href="${to}?${String(query).replaceAll('&', '&amp;')}">${text}</a>`;
    };
    const links = link('Allow', { code }) + link('Deny', { error: 'access_denied' });
    const page = `<link rel="icon" href="data:,">${links}`;
    return new Response(page, { headers: { 'content-type': 'text/html' } });
  }

  #redeem(asked: Fields): Response {
    const isValid = this.#isCode(asked) || this.#refreshTokens.delete(asked['refresh_token'] ?? '');
    if (!isValid) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    this.grants.push(asked['grant_type'] ?? '');
    const [token, next] = [randomUUID(), randomUUID()];
    this.#tokens.add(token);
    this.#refreshTokens.add(next);
    return Response.json({ access_token: token, token_type: 'Bearer', refresh_token: next });
  }

  #isCode({ client_id, code = '', code_verifier = '', redirect_uri }: Fields): boolean {
    const granted = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256').update(code_verifier).digest('base64url');
    return (
      granted?.challenge === challenge &&
      granted.client === client_id &&
      granted.to === redirect_uri
    );
  }
}

function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
}

interface Code {
  challenge: string;
  client: string;
  /** Where the browser returns to. */
  to: string;
}

type Fields = Record<string, string>;
