import type { Endpoint } from '../mcp/endpoint.js';
import { CallForm } from './call-form.js';
import { argumentsOf } from './fields.js';

/** Opens a subscription to the events of a type; resolves with its name. */
export type OpenEvents = (
  endpoint: Endpoint,
  event: { name: string; arguments: Record<string, unknown> },
) => Promise<string>;

/** Returns a form that opens a subscription to an event type. */
export function eventForm(open: OpenEvents): CallForm {
  return new CallForm({
    container: 'act-event',
    noun: 'Event type',
    button: 'Subscribe',
    argumentsOf: ({ raw }) => argumentsOf(raw['inputSchema']),
    act: async (endpoint, { key }, args, outcome) => {
      const name = await open(endpoint, { name: key, arguments: args });
      outcome.show(`Subscription ${name} is opening.`, 'good');
    },
  });
}
