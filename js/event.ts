import { calling } from './error.js';
import { normalizeEvent } from './wasm.js';

/**
 * A change that a server publishes: the event of the official TypeScript SDK's `ServerEventBus`.
 * A `uri` is an opaque, non-empty string of at most 2,048 bytes without control characters.
 */
export type ServerEvent =
  | { kind: 'tools_list_changed' }
  | { kind: 'prompts_list_changed' }
  | { kind: 'resources_list_changed' }
  | { kind: 'resource_updated'; uri: string };

/**
 * The event as compact JSON text.
 *
 * @throws ListenError with `malformed-event`, `unknown-event-kind` or `invalid-uri`.
 */
export function eventText(event: ServerEvent): string {
  return calling(() => normalizeEvent(JSON.stringify(event) ?? ''));
}
