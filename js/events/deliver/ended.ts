import { type EndedEvent, EventService } from '../../wasm/events/bindings.js';

/**
 * Returns the event types whose subscriptions end because their definitions have changed, both
 * given as JSON text.
 */
export function endedBy(former: string, current: string): EndedEvent[] {
  const [older, newer] = [serviceOf(former), serviceOf(current)];
  const ended = older.endedBy(newer);
  older.free();
  newer.free();
  return ended;
}

function serviceOf(definitions: string): EventService {
  return new EventService(`{"events":${definitions},"modes":["webhook"],"namesCallers":true}`);
}
