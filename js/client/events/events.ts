import type { HttpTarget } from '../transport/target.js';
import type { EventHandlers, EventWatchOptions } from './options.js';
import { type EventWatch, watchEvents } from './watch-events.js';

/** What `watch` takes in place of a filter: the occurrences of an event, see `events`. */
export interface WatchedEvents {
  /** Called by `watch`. */
  open(target: HttpTarget, handlers: EventHandlers, options?: EventWatchOptions): EventWatch;
}

/**
 * Names an event whose occurrences `watch` receives, over a stream or by polling: each is passed to
 * the handler `event`, in order, and the cursor moves on after it. A lost connection is resumed at
 * the cursor.
 *
 * @param name - the name of the event, as the server lists it.
 * @param args - the arguments of the event, such as a filter.
 *
 * @example
 * ```ts
 * const watching = watch('https://mcp.example/mcp', events('order.paid', { customer: 'acme' }), {
 *   event: ({ data }) => ship(data),
 *   gap: () => readAllOrders(),
 *   terminated: ({ code }) => console.error('the server ended the subscription:', code),
 * });
 * await watching.close();
 * ```
 */
export function events(name: string, args: Record<string, unknown> = {}): WatchedEvents {
  return {
    open: (target, { event, gap, terminated }, options) =>
      watchEvents(target, {
        ...options,
        name,
        arguments: args,
        onEvent: event,
        onGap: gap,
        onTerminated: terminated,
      }),
  };
}
