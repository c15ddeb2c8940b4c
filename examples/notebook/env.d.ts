declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
    NOTEBOOK: DurableObjectNamespace<import('./notebook.js').Notebook>;
    /** Who bears it may publish; nobody may without it. */
    PUBLISH_TOKEN?: string;
    /** The MCP endpoint of a server: this Worker is a gateway in front of it. Without it the notebook is served. */
    UPSTREAM?: string;
    /** Authorizes what watches that server. */
    UPSTREAM_TOKEN?: string;
    /** `off`: the server is not watched, it publishes by itself. */
    UPSTREAM_WATCH?: string;
    /** `acknowledged` or `admitted`: what callers of the gateway receive; see docs/gateway.md. */
    UPSTREAM_RIGHTS?: string;
    /** Names of header fields that identify a caller, beside Authorization and Cookie, with commas between them. */
    CREDENTIAL_HEADERS?: string;
    /** `admitted` or `refused` (default): callers to whom the server answers that it has no server/discover. */
    UNKNOWN_METHOD?: string;
    /** `host` or `path`: what tells the tenants of the gateway apart. Without it there is one. */
    TENANTS?: string;
    /** Anything but an empty text: everybody may read the numbers. */
    STATS_OPEN?: string;
    /** Who bears it may read /metrics; without it there is no such path. */
    METRICS_TOKEN?: string;
    /** A dataset of Workers Analytics Engine, which is written the numbers of every isolate. */
    ANALYTICS?: import('mcp-listen').AnalyticsDataset;
  }
}

declare module '*.html' {
  const text: string;
  export default text;
}

declare module '*.txt' {
  const text: string;
  export default text;
}

declare module '*.bin' {
  const bytes: ArrayBuffer;
  export default bytes;
}
