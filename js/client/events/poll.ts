import { isCursor } from '../../model/events/occurrence.js';
import { SubscriptionLost } from '../../model/subscription-error.js';
import { delay, MAX_WAIT_MS } from './delay.js';
import type { Followed } from './followed.js';

/**
 * Polls for events until a request fails.
 *
 * @throws ListenError when a request fails. The abort reason of the signal.
 */
export async function pollEvents(followed: Followed): Promise<never> {
  const { delivery, params, requests, signal } = followed;
  for (;;) {
    const { cursor } = delivery;
    const page = pageOf(await requests.result('events/poll', { ...params, cursor }));
    followed.live();
    if (page.isTruncated) await delivery.gap(page.cursor);
    for (const event of page.events) await delivery.event(event);
    await delivery.reached(page.cursor);
    // If a server has more but its cursor does not move, polls are not faster than usual.
    if (!page.hasMore || delivery.cursor === cursor) await delay(page.waitMs, signal);
  }
}

interface Page {
  events: unknown[];
  cursor: string | null;
  isTruncated: boolean;
  hasMore: boolean;
  /** Milliseconds until the next poll. */
  waitMs: number;
}

function pageOf(result: Record<string, unknown>): Page {
  const { cursor = null, events, hasMore, nextPollMs, truncated } = result;
  if (!Array.isArray(events) || !isCursor(cursor))
    throw new SubscriptionLost('invalid-response', 'the server sent no page of events');
  const suggested = typeof nextPollMs === 'number' ? nextPollMs : DEFAULT_WAIT_MS;
  const waitMs = Math.min(Math.max(suggested, MIN_WAIT_MS), MAX_WAIT_MS);
  return { events, cursor, isTruncated: truncated === true, hasMore: hasMore === true, waitMs };
}

const DEFAULT_WAIT_MS = 30_000;
const MIN_WAIT_MS = 1_000;
