import { isObject } from '../../model/json.js';
import type { EventWatchMode } from './options.js';
import { notSupported } from './refusal.js';
import type { EventRequests } from './requests.js';

/**
 * Returns the modes that the server lists for an event, the preferred one first.
 *
 * @throws ListenError `not-supported` if the event is not listed, or has none of our modes.
 */
export async function listedModes(
  requests: EventRequests,
  name: string,
): Promise<EventWatchMode[]> {
  const delivery = await deliveryOf(requests, name);
  if (delivery === undefined) throw notSupported(`the server does not list the event ${name}`);
  const modes = MODES.filter((mode) => delivery.includes(mode));
  if (modes.length === 0) throw notSupported(`the event ${name} has neither push nor poll`);
  return modes;
}

/** Returns the member `delivery` of an event in the server's list; undefined if there is none. */
async function deliveryOf(requests: EventRequests, name: string): Promise<unknown[] | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { events, nextCursor } = await requests.result('events/list', cursor ? { cursor } : {});
    const found = (Array.isArray(events) ? events : []).find(
      (event) => isObject(event) && event['name'] === name,
    );
    if (found !== undefined) return Array.isArray(found.delivery) ? found.delivery : [];
    if (typeof nextCursor !== 'string') return undefined;
    cursor = nextCursor;
  }
  return undefined;
}

const MODES: readonly EventWatchMode[] = ['push', 'poll'];
/** Maximum number of pages to read of a list. */
const MAX_PAGES = 1_000;
