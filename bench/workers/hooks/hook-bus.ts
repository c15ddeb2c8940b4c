import { env } from 'cloudflare:workers';
import { SubscriptionBus } from 'mcp-listen/cloudflare';
import { defineEvents, eventLog } from 'mcp-listen/events';

const { RECEIVER } = env as unknown as { RECEIVER: string };

/** One event type, whose webhooks are at an endpoint that needs no challenge. */
export const events = defineEvents(
  { noted: { match: { topic: '/topic' } } },
  { webhooks: { allowInsecureLocalhost: true, allowedOrigins: [RECEIVER] } },
);

/** The bus as users deploy it, which delivers to webhooks. */
export class HookBus extends SubscriptionBus {
  static override events = eventLog({ webhooks: events });

  /** Has this object hold copies of its only subscription, as if many clients had made them. */
  async copy(times: number): Promise<void> {
    const { sql } = this.ctx.storage;
    const { text } = sql.exec<{ text: string }>('SELECT text FROM webhook').one();
    for (let copy = 0; copy < times; copy += 1)
      sql.exec('INSERT INTO webhook VALUES (?, ?)', `sub_${String(copy).padStart(32, '0')}`, text);
    await this.ctx.storage.sync();
    this.ctx.abort('its subscriptions have been copied');
  }
}
