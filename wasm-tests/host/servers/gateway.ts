import { onTestFinished } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { LegacySession, type Send } from '../legacy.ts';
import { type ListenInit, listen, type WireStream } from '../listen.ts';
import { SECRET, tenantSecret } from '../signing.ts';

/** The deployed Worker as a gateway in front of a server. */
export class GatewayFixture {
  readonly #workerd: Workerd;

  private constructor(workerd: Workerd) {
    this.#workerd = workerd;
  }

  /** Starts it in front of the server at `upstream`, with additional variables. */
  static async start(upstream: string, text: Record<string, string> = {}): Promise<GatewayFixture> {
    const variables = { UPSTREAM: upstream, PUBLISH_TOKEN: SECRET, STATS_OPEN: 'on', ...text };
    return new GatewayFixture(
      await startWorkerd({ bundle: workerBundle, edges: 2, text: variables, reachesLocal: true }),
    );
  }

  /** The origin of an edge isolate. */
  origin(edge = 0): string {
    return this.#workerd.edges[edge] ?? '';
  }

  /** The MCP endpoint of a tenant at an edge isolate. */
  mcp(edge = 0, tenant = ''): string {
    return `${this.origin(edge)}${tenant}/mcp`;
  }

  /** Opens a subscription, and drops it after the test. */
  async subscribe(
    filter: unknown,
    { edge = 0, tenant = '', ...init }: Where & ListenInit = {},
  ): Promise<WireStream> {
    const stream = await listen(this.mcp(edge, tenant), filter, init);
    onTestFinished(() => stream.drop());
    return stream;
  }

  /** Begins a session of 2025-11-25. */
  session({ edge = 0, tenant = '' }: Where = {}): Promise<LegacySession> {
    return LegacySession.begin(this.via({ edge, tenant }));
  }

  /** Opens the stream of a session, and drops it after the test. */
  async open(session: LegacySession): Promise<WireStream> {
    const stream = await session.open();
    onTestFinished(() => stream.drop());
    // A session's stream begins with an event without a message.
    await stream.event();
    return stream;
  }

  /** Sends MCP requests to a tenant. */
  via({ edge = 0, tenant = '' }: Where = {}): Send {
    return (init) => fetch(this.mcp(edge, tenant), init);
  }

  /** Publishes to the bus of a tenant; resolves with the position. */
  async publish(event: unknown, { edge = 1, tenant = '' }: Where = {}): Promise<number> {
    const secret = tenant === '' ? SECRET : tenantSecret(tenant.slice(1));
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(event) };
    const response = await fetch(`${this.origin(edge)}${tenant}/publish`, init);
    return ((await response.json()) as { position: number }).position;
  }

  /** The output of workerd so far. */
  log(): string {
    return this.#workerd.log();
  }

  /** Stops it. */
  stop(): Promise<void> {
    return this.#workerd.stop();
  }
}

interface Where {
  edge?: number;
  /** The path before `/mcp`. */
  tenant?: string;
}
