import { env } from 'cloudflare:workers';
import { SubscriptionBus } from 'mcp-listen/cloudflare';
import type { Counts } from '../../cost/counts.ts';
import { countStorage, counts } from './ledger.ts';

const { EDGES_PER_SHARD } = env as unknown as { EDGES_PER_SHARD: string };

/** The bus as users deploy it; each call of one of its methods is counted. */
export class CountedBus extends SubscriptionBus {
  static override options = { edgesPerShard: Number(EDGES_PER_SHARD) };

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    countStorage(ctx.storage);
  }

  /** Counts a call of a method, unless another method of the object makes it. */
  counted(kind: keyof Counts | undefined, call: () => unknown): unknown {
    if (isInside) return call();
    const started = performance.now();
    if (kind !== undefined) counts[kind] += 1;
    isInside = true;
    try {
      const result = call();
      void this.#end(started, result);
      return result;
    } finally {
      isInside = false;
    }
  }

  /** The object is charged for until a call is answered, which is when what it wrote is on the disk. */
  async #end(started: number, result: unknown): Promise<void> {
    await Promise.resolve(result).catch(() => {});
    await this.ctx.storage.sync();
    counts.handlerMs += performance.now() - started;
  }
}

/** What calls of these methods count as; those of all others are RPC. */
const KINDS: Record<string, keyof Counts | undefined> = {
  fetch: 'upgrades',
  webSocketMessage: 'messages',
  webSocketClose: undefined,
  webSocketError: undefined,
  alarm: 'alarms',
};

type Method = (this: CountedBus, ...args: unknown[]) => unknown;

for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(SubscriptionBus.prototype))) {
  if (name === 'constructor' || typeof value !== 'function') continue;
  const method = value as Method;
  const kind = name in KINDS ? KINDS[name] : 'calls';
  const counting: Method = function (...args) {
    return this.counted(kind, () => method.apply(this, args));
  };
  Object.defineProperty(CountedBus.prototype, name, { value: counting });
}

let isInside = false;
