declare namespace Cloudflare {
  interface Env {
    MCP_BUS: DurableObjectNamespace<import('mcp-listen/cloudflare').SubscriptionBus>;
    NOTEBOOK: DurableObjectNamespace<import('./notebook.js').Notebook>;
    /** `on` lists the tools that write to the notebook. */
    NOTEBOOK_WRITE?: string;
    /**
     * `on` names each caller of the notebook by its bearer token, whatever it is, and delivers to
     * webhooks, also over http on this machine; those of a gateway may then be there too. For a
     * demo on this machine only.
     */
    DEMO_CALLERS?: string;
    /** `on` serves the console at `/`. */
    CONSOLE?: string;
    /**
     * The host names that requests may use, separated by commas. If unset, any name except one that
     * is rebound to this machine.
     */
    ALLOWED_HOSTS?: string;
    /** The publish secret, at least 16 bytes. If unset, publishing over HTTP is disabled. */
    PUBLISH_TOKEN?: string;
    /**
     * The MCP endpoint of an upstream server: this Worker is then a gateway to it. If unset, the
     * Worker serves the notebook.
     */
    UPSTREAM?: string;
    /** The bearer token with which the gateway watches the upstream server. */
    UPSTREAM_TOKEN?: string;
    /** `off` disables the watch: the upstream server publishes its changes itself. */
    UPSTREAM_WATCH?: string;
    /** `acknowledged` or `admitted`: what callers may receive; see docs/gateway-rights.md. */
    UPSTREAM_RIGHTS?: string;
    /**
     * Names of header fields that identify a caller, in addition to Authorization and Cookie,
     * separated by commas.
     */
    CREDENTIAL_HEADERS?: string;
    /**
     * `admitted` or `refused` (default): how to treat callers for whom the upstream server does not
     * support server/discover.
     */
    UNKNOWN_METHOD?: string;
    /** Number of subrequests that the plan of the Worker allows each request. */
    SUBREQUESTS?: string;
    /** The event types that the gateway serves, as JSON; see docs/gateway-events.md. */
    EVENTS?: string;
    /**
     * `admitted`: every admitted caller receives events, also where `UPSTREAM_RIGHTS` is
     * `acknowledged`; see docs/gateway-events.md.
     */
    EVENTS_RIGHTS?: string;
    /**
     * 32 bytes in base64, with which the bus encrypts the secrets of webhooks. If unset, events are
     * not delivered to webhooks.
     */
    WEBHOOK_KEY?: string;
    /** `host` or `path`: what identifies the tenant of a request. If unset, there is only one. */
    TENANTS?: string;
    /**
     * The tenants, separated by commas: their hosts, or the part of their paths before `/mcp`.
     */
    TENANT_NAMES?: string;
    /**
     * The bearer token of `/operate` and `/stats`, at least 16 bytes. If unset, there are no such
     * paths. Its bearer can end every stream and publish everything.
     */
    OPERATOR_TOKEN?: string;
    /** `on` makes `/stats` public. Otherwise it requires `OPERATOR_TOKEN`. */
    STATS_OPEN?: string;
    /** The bearer token of `/metrics`, at least 16 bytes. If unset, there is no such path. */
    METRICS_TOKEN?: string;
    /** A dataset of Workers Analytics Engine for the metrics of every isolate. */
    ANALYTICS?: import('mcp-listen').AnalyticsDataset;
  }
}
