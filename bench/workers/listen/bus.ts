import { env } from 'cloudflare:workers';
import { SubscriptionBus } from 'mcp-listen/cloudflare';

const { AWAY, EDGES_PER_SHARD } = env as unknown as { AWAY: string; EDGES_PER_SHARD: string };

/** The bus as users deploy it, which also counts its wake-ups and can be reset. */
export class BenchBus extends SubscriptionBus {
  static override options = { edgesPerShard: Number(EDGES_PER_SHARD) };

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS wake (at INTEGER)');
    ctx.storage.sql.exec('INSERT INTO wake VALUES (?)', Date.now());
  }

  /** Accepts no connection if the bus is unavailable. */
  override async fetch(request: Request): Promise<Response> {
    if (AWAY === 'true') await new Promise(() => setInterval(() => {}, 1_000));
    return super.fetch(request);
  }

  /** An empty call to an object. */
  nothing(): void {}

  /** How often this object was constructed. */
  wakes(): number {
    return this.ctx.storage.sql.exec<{ wakes: number }>('SELECT COUNT(*) AS wakes FROM wake').one()
      .wakes;
  }

  /** Resets the object, as a deploy does. */
  reset(): void {
    this.ctx.abort('reset by a benchmark');
  }
}
