declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
    NOTEBOOK: DurableObjectNamespace<import('./notebook.js').Notebook>;
  }
}

declare module '*.html' {
  const text: string;
  export default text;
}
