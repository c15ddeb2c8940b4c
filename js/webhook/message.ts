import { type EventError, eventErrorOf } from '../model/events/event-error.js';
import { type EventOccurrence, isCursor, occurrenceOf } from '../model/events/occurrence.js';
import { isObject, parsedJson } from '../model/json.js';

/** A message of a server to the endpoint of a subscription. */
export type WebhookMessage =
  | { type: 'verification'; challenge: string }
  | { type: 'gap'; cursor: string | null }
  | { type: 'terminated'; error: EventError }
  | { type: 'event'; event: EventOccurrence };

/** Reads a body; returns undefined if it is malformed, or a message of an unknown type. */
export function messageOf(body: Uint8Array): WebhookMessage | undefined {
  const value = jsonOf(body);
  if (!isObject(value)) return undefined;
  const { challenge, cursor = null, type } = value;
  if (type === undefined) return eventOf(value);
  if (type === 'verification' && typeof challenge === 'string') return { type, challenge };
  if (type === 'gap' && isCursor(cursor)) return { type, cursor };
  return type === 'terminated' ? terminationOf(value['error']) : undefined;
}

function eventOf(value: unknown): WebhookMessage | undefined {
  const event = occurrenceOf(value);
  return event && { type: 'event', event };
}

function terminationOf(value: unknown): WebhookMessage | undefined {
  const error = eventErrorOf(value);
  return error && { type: 'terminated', error };
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return parsedJson(decoder.decode(body));
  } catch {
    return undefined;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });
