import { env } from 'cloudflare:workers';
import { SubscriptionBus } from 'mcp-listen/cloudflare';
import { eventLog } from 'mcp-listen/events';
import type { Counts } from '../../cost/counts.ts';
import { events } from './events.ts';
import { countStorage, counts, running } from './ledger.ts';

const { EDGES_PER_SHARD } = env as unknown as { EDGES_PER_SHARD: string };

/** The bus as users deploy it; calls of its methods are counted. */
export class CountedBus extends SubscriptionBus {
  static override options = { edgesPerShard: Number(EDGES_PER_SHARD) };
  static override events = eventLog({ webhooks: events });

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    countStorage(ctx.storage);
  }
}

/** What calls of these methods count as; calls of all others are RPC. */
const KINDS: Record<string, keyof Counts | undefined> = {
  fetch: 'upgrades',
  webSocketMessage: 'messages',
  webSocketClose: undefined,
  webSocketError: undefined,
  alarm: 'alarms',
};

type Method = (this: CountedBus, ...args: unknown[]) => unknown;

/** Whether a method of an object is running; the calls that it makes itself do not count. */
let isInside = false;

for (const [name, { value }] of Object.entries(
  Object.getOwnPropertyDescriptors(SubscriptionBus.prototype),
)) {
  if (name === 'constructor' || typeof value !== 'function') continue;
  const method = value as Method;
  const kind = name in KINDS ? KINDS[name] : 'calls';
  const counted: Method = function (...args) {
    if (isInside) return method.apply(this, args);
    if (kind !== undefined) counts[kind] += 1;
    isInside = true;
    try {
      return running(() => method.apply(this, args));
    } finally {
      isInside = false;
    }
  };
  Object.defineProperty(CountedBus.prototype, name, { value: counted });
}
