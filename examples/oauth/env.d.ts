declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
    OAUTH_KV: KVNamespace;
    /** The URL of the MCP endpoint. */
    RESOURCE: string;
    /** Set by the OAuth provider. */
    OAUTH_PROVIDER: import('@cloudflare/workers-oauth-provider').OAuthHelpers;
  }
}
