import { watch } from 'mcp-listen/client';
import { type SharedWatch, shareWatch } from 'mcp-listen/client/store';
import { expect, onTestFinished, vi } from 'vitest';
import { served } from '../serving.ts';

export const TOOLS = { toolsListChanged: true };
export const A = { resourceSubscriptions: ['note://a'] };

/** A server, and a watch of it that many share. */
export async function sharing() {
  const host = await served();
  const filters: object[] = [];
  const shared = shareWatch((filter, handlers) => {
    filters.push(filter);
    return watch(host.url, filter, handlers);
  });
  onTestFinished(async () => {
    await shared.close();
    await host.stop();
  });
  return { ...host, filters, shared };
}

export function live(shared: SharedWatch): Promise<void> {
  return vi.waitFor(() => expect(shared.status.getSnapshot().state).toBe('live'), 10_000);
}
