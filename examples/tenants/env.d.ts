declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
  }
}
