declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
    NOTEBOOK: DurableObjectNamespace<import('./notebook.js').Notebook>;
    /** `on`: the tools that write into the notebook are listed and can be called. */
    NOTEBOOK_WRITE?: string;
    /** `on`: the console is served at `/`. */
    CONSOLE?: string;
    /**
     * The hosts that requests may name, with commas between them; without it all but a rebound
     * name.
     */
    ALLOWED_HOSTS?: string;
    /** The secret of publishers, at least 16 bytes. Without it nothing is published over HTTP. */
    PUBLISH_TOKEN?: string;
    /**
     * The MCP endpoint of a server: this Worker is a gateway in front of it. Without it the
     * notebook is served.
     */
    UPSTREAM?: string;
    /** Authorizes what watches that server. */
    UPSTREAM_TOKEN?: string;
    /** `off`: the server is not watched, it publishes by itself. */
    UPSTREAM_WATCH?: string;
    /** `acknowledged` or `admitted`: what callers of the gateway receive; see docs/gateway.md. */
    UPSTREAM_RIGHTS?: string;
    /**
     * Names of header fields that identify a caller, beside Authorization and Cookie, with commas
     * between them.
     */
    CREDENTIAL_HEADERS?: string;
    /**
     * `admitted` or `refused` (default): callers to whom the server answers that it has no
     * server/discover.
     */
    UNKNOWN_METHOD?: string;
    /** `host` or `path`: what tells the tenants of the gateway apart. Without it there is one. */
    TENANTS?: string;
    /**
     * The tenants, with commas between them: their hosts, or what stands before `/mcp` in their
     * paths.
     */
    TENANT_NAMES?: string;
    /** `on`: everyone may read the numbers. Without it they take `PUBLISH_TOKEN`. */
    STATS_OPEN?: string;
    /** The secret that opens /metrics, at least 16 bytes; without it there is no such path. */
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
