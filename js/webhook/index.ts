/**
 * Receives MCP events over webhooks: a fetch handler for Workers, Node, Deno, Bun and Hono. It
 * needs no WebAssembly.
 *
 * @packageDocumentation
 */
export { ListenError, type ListenErrorCode } from '../model/error.js';
export type { EventError, EventErrorCode } from '../model/events/event-error.js';
export type { EventGap, EventOccurrence } from '../model/events/occurrence.js';
export type { SchemaIssue, SchemaResult, StandardSchema } from '../model/events/standard-schema.js';
export type {
  DeliveryContext,
  EventSchemas,
  WebhookEvent,
  WebhookReceiverOptions,
} from './options.js';
export { createWebhookReceiver, type WebhookReceiver } from './receiver.js';
export { generateWebhookSecret } from './secret.js';
export type { FindSecrets, SubscriptionSecrets, WebhookSecrets } from './secrets.js';
export type { SeenEvents } from './seen-events.js';
