import type { Endpoint } from '../mcp/endpoint.js';
import { CallForm } from './call-form.js';
import { argumentsOf } from './fields.js';

/** Opens a subscription to the events of a type. */
export type OpenEvents = (
  endpoint: Endpoint,
  name: string,
  args: Record<string, unknown>,
) => string;

/** Returns a form that opens a subscription to an event type; `open` returns its name. */
export function eventForm(open: OpenEvents): CallForm {
  return new CallForm({
    container: 'act-event',
    noun: 'Event type',
    button: 'Subscribe',
    argumentsOf: ({ raw }) => argumentsOf(raw['inputSchema']),
    act: async (endpoint, { key }, args, outcome) => {
      outcome.show(`Subscription ${open(endpoint, key, args)} is opening.`, 'good');
    },
  });
}
