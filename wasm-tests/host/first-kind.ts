import type { Subscription } from 'mcp-listen/client';

/** The kind of the first event of a subscription; undefined if it ends before. */
export async function firstKind(subscription: Subscription): Promise<string | undefined> {
  for await (const event of subscription) return event.kind;
  return undefined;
}
