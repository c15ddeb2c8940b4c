import { ListenError } from '../model/error.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { errorOf } from '../model/subscription-error.js';
import { expectLoaded } from '../wasm/client/load.js';
import { type ClientListenOptions, expectTimeouts } from './options.js';
import { SourceSubscription, type Subscription } from './subscription.js';
import { type CoreSource, nextEvent } from './transport/core-source.js';
import { open } from './transport/open.js';
import type { ListenTarget } from './transport/target.js';

/**
 * Opens one subscription and resolves when the server has acknowledged it. Use `watch` to stay
 * subscribed.
 *
 * @throws ListenError if the subscription cannot be opened; its class names the reason. The abort
 *   reason of `signal`.
 *
 * @example
 * ```ts
 * const subscription = await listen('https://mcp.example/mcp', { toolsListChanged: true });
 * for await (const event of subscription) console.log(event.kind);
 * ```
 */
export async function listen(
  target: ListenTarget,
  filter: SubscriptionFilter,
  options: ClientListenOptions = {},
): Promise<Subscription> {
  options.signal?.throwIfAborted();
  expectLoaded();
  expectTimeouts(options);
  return acknowledged(open(target, JSON.stringify(filter), options), options.signal);
}

/** Waits until the source is open. */
async function acknowledged(
  source: CoreSource,
  signal: AbortSignal | undefined,
): Promise<Subscription> {
  const abort = () => {
    source.close();
    source.wake();
  };
  signal?.addEventListener('abort', abort, { once: true });
  const event = await nextEvent(source, () => signal?.aborted ?? false);
  signal?.removeEventListener('abort', abort);
  signal?.throwIfAborted();
  if (event?.kind === 'live') return new SourceSubscription(source, event, signal);
  source.close();
  const error = event?.kind === 'stopped' ? errorOf(event.end, event.cause) : undefined;
  throw error ?? new ListenError('invalid-response', 'the subscription ended before it was open');
}
