import { calling } from '../model/error.js';
import type { ServerEvent } from '../model/event.js';
import { normalizeEvent } from '../wasm/server/bindings.js';

/**
 * Returns the event as compact JSON text.
 *
 * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri`, `invalid-task`,
 *   `invalid-group` or `invalid-principal`.
 */
export function eventText(event: ServerEvent): string {
  return calling(() => normalizeEvent(JSON.stringify(event) ?? ''));
}
