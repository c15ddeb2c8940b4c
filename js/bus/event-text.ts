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
  return normalized(JSON.stringify(event) ?? '');
}

/**
 * Returns an event, given as JSON text, as compact JSON text.
 *
 * @throws ListenError as {@link eventText} does.
 */
export function normalized(text: string): string {
  return calling(() => normalizeEvent(text)) ?? text;
}
