import type { EventDefinition, EventOptions, EventTypes } from './define/definitions.js';
import { EventTypeTable } from './define/event-type-table.js';
import { parsePosted } from './define/posted.js';
import type { EventSchema } from './define/schema.js';
import { WebhookDeliverer } from './deliver/deliverer.js';
import { WebhookSettings } from './deliver/settings.js';
import type { DefinedEvents } from './serve/host.js';
import { ServedEvents } from './serve/served-events.js';

/**
 * Defines the event types of a server, for the option `events` of `createListenHandler`. The bus
 * needs a log of occurrences, see `eventLog`.
 *
 * @throws ListenError `invalid-event-name`, `invalid-options`.
 *
 * @example
 * ```ts
 * const server = createListenHandler(handler, {
 *   bus,
 *   events: defineEvents({
 *     'order.paid': {
 *       description: 'An order was paid',
 *       inputSchema: z.object({ customer: z.string().optional() }),
 *       payloadSchema: z.object({ customer: z.string(), amount: z.number() }),
 *       match: { customer: '/customer' },
 *     },
 *   }),
 * });
 * await server.notify.event('order.paid', { customer: 'acme', amount: 12 });
 * ```
 */
export function defineEvents<
  Inputs extends Record<string, EventSchema>,
  Payloads extends Record<string, EventSchema>,
  Rest extends unknown[] = unknown[],
>(
  types: {
    [Name in keyof Inputs]: EventDefinition<Inputs[Name], Payloads[Name & keyof Payloads]>;
  } & {
    // The compiler infers `Payloads` here.
    [Name in keyof Payloads]: { [Member in keyof EventDefinition]?: unknown } & {
      payloadSchema?: Payloads[Name];
    };
  },
  options: EventOptions<Rest> = {},
): DefinedEvents {
  const table = new EventTypeTable(types as unknown as EventTypes);
  const { webhooks } = options;
  const settings = webhooks && new WebhookSettings(webhooks);
  return {
    authorizes: options.authorize !== undefined,
    emit: async (bus, name, data, emitOptions) => {
      await table.expectValid(name, data);
      return bus.emit(name, data, emitOptions);
    },
    serve: (host) => new ServedEvents(table, options as EventOptions, host),
    posted: (body) => parsePosted(body, table),
    deliver: settings && ((host) => new WebhookDeliverer(host, table, settings)),
  };
}
