// Every user has a lamp. The OAuth provider checks the token; `ctx.props` identifies the user.
import { env } from 'cloudflare:workers';
import { OAuthProvider, type OAuthResourceContext } from '@cloudflare/workers-oauth-provider';
import { createMcpHandler, type McpRequestContext, McpServer } from '@modelcontextprotocol/server';
import { type AuthInfo, createListenHandler, publishChanges } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';

export { SubscriptionBus } from 'mcp-listen/cloudflare';

/** The properties that the provider stores with each token. */
interface Props {
  user: string;
}

function lampServer({ authInfo }: McpRequestContext) {
  const uri = `lamp://${authInfo?.extra?.['sub']}`;
  const server = new McpServer(
    { name: 'lamp', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('mine', uri, { description: 'Your lamp' }, () => ({
    contents: [{ uri, text: 'A lamp does not know whether it is on.' }],
  }));
  server.registerTool('switch', { description: 'Switches your lamp' }, async () => {
    await server.server.sendResourceUpdated({ uri });
    return { content: [{ type: 'text', text: 'Switched.' }] };
  });
  return server;
}

const bus = durableObjectBus(env.MCP_BUS);
const mcp = createMcpHandler(publishChanges(lampServer, bus));

const server = createListenHandler<[Cloudflare.Env, ExecutionContext]>(
  (request, _env, ctx) => mcp.fetch(request, { authInfo: authInfoOf(ctx) }),
  {
    bus,
    // The stream of a user ends when the token does.
    principal: (_request, _env, ctx) => authInfoOf(ctx),
    authorize: ({ principal, requested }) => ({
      ...requested,
      resourceSubscriptions: (requested.resourceSubscriptions ?? []).filter(
        (uri) => uri === `lamp://${principal}`,
      ),
    }),
  },
);

/** Converts what the OAuth provider knows about a token to the type of the official SDK. */
function authInfoOf(ctx: ExecutionContext): AuthInfo {
  const { auth, props } = ctx as OAuthResourceContext<Props>;
  const { clientId = '', expiresAt, scope, token } = auth;
  return {
    token,
    clientId,
    scopes: scope,
    ...(expiresAt && { expiresAt }),
    extra: { sub: props.user },
  };
}

/** Asks for the user's name, and trusts any input: replace this with your login. */
async function authorizePage(
  request: Request,
  { OAUTH_PROVIDER: oauth }: Cloudflare.Env,
): Promise<Response> {
  if (new URL(request.url).pathname !== '/authorize') return new Response(null, { status: 404 });
  if (request.method === 'POST') {
    const form = await request.formData();
    const approved = await oauth.approveConsent(request, String(form.get('handle')));
    const user = encodeURIComponent(String(form.get('user')));
    const { scope } = approved.request;
    const { redirectTo } = await oauth.completeAuthorization({
      ...{ request: approved.request, scope, userId: user, metadata: {} },
      props: { user } satisfies Props,
    });
    approved.headers.set('location', redirectTo);
    return new Response(null, { status: 302, headers: approved.headers });
  }
  const authRequest = await oauth.parseAuthRequest(request);
  const { redirectHost } = await oauth.describeConsent(authRequest);
  const { handle, headers } = await oauth.beginConsent(authRequest);
  headers.set('content-type', 'text/html; charset=utf-8');
  const page = `<!doctype html><title>Lamp</title>
<form method="post">
  <p>A program at ${redirectHost.replaceAll(/[<&"]/g, '')} wants to see your lamp.</p>
  <label>Your name <input name="user" pattern="\\w+" required></label>
  <button name="handle" value="${handle}">Allow</button>
</form>`;
  return new Response(page, { headers });
}

export default new OAuthProvider({
  apiRoute: '/mcp',
  apiHandler: server,
  defaultHandler: { fetch: authorizePage },
  authorizeEndpoint: '/authorize',
  tokenEndpoint: '/token',
  clientRegistrationEndpoint: '/register',
  resourceMetadata: { resource: env.RESOURCE },
});
