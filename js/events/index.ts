/**
 * MCP Events (`io.modelcontextprotocol/events`): what happened, with a payload and a cursor, on the
 * bus that carries changes.
 *
 * @packageDocumentation
 */

export type {
  EmitOptions,
  EventLogMaker,
  EventPublisher,
  EventReceipt,
} from '../bus/events.js';
export type { EventMode } from '../model/events/event-mode.js';
export type { StandardSchema } from '../model/events/standard-schema.js';
export type { WebhookStats } from '../model/stats/webhooks.js';
export type {
  AuthorizeEvent,
  AuthorizeEventContext,
  EventDefinition,
  EventOptions,
} from './define/definitions.js';
export type { Described, DescribedSchema, EventSchema, JsonSchema } from './define/schema.js';
export { defineEvents } from './define-events.js';
export type {
  AuthorizedSubscription,
  EventWebhookOptions,
  SubscriptionDecision,
} from './deliver/options.js';
export type { WebhookRequest, WebhookResponse, WebhookSender } from './deliver/sender.js';
export { type EventLogOptions, eventLog } from './log/occurrence-log.js';
export type { DefinedEvents } from './serve/host.js';
