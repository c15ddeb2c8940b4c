import type { ListenHandlerOptions } from 'mcp-listen';
import { type Watch, watch } from 'mcp-listen/client';
import { type SharedWatch, shareWatch } from 'mcp-listen/client/store';
import { expect, onTestFinished } from 'vitest';
import { served } from '../serving.ts';

export const TOOLS = { toolsListChanged: true };
export const A = { resourceSubscriptions: ['note://a'] };

/** A server, and a watch of it that many share. */
export async function sharing(options?: ListenHandlerOptions) {
  const host = await served(options);
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

export async function live(shared: SharedWatch): Promise<void> {
  await expect.poll(() => shared.status.getSnapshot().state).toBe('live');
}

/** Shares a watch whose states the test sets. */
export function scripted() {
  const watches: ScriptedWatch[] = [];
  const shared = shareWatch(() => {
    const watch = new ScriptedWatch();
    watches.push(watch);
    return watch;
  });
  onTestFinished(() => shared.close());
  return { shared, watches };
}

class ScriptedWatch implements Watch {
  state: Watch['state'] = 'connecting';
  honored: Watch['honored'];
  error: Watch['error'];
  readonly reconnects = 0;
  #changed = () => {};

  set(state: Watch['state'], { error, honored }: Partial<Pick<Watch, 'error' | 'honored'>> = {}) {
    Object.assign(this, { state, error, honored });
    this.#changed();
  }

  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    return () => {};
  }

  async close(): Promise<void> {
    if (this.state !== 'stopped') this.set('stopped');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
