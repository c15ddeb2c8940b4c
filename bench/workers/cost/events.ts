import { env } from 'cloudflare:workers';
import { defineEvents } from 'mcp-listen/events';

const { RECEIVER } = env as unknown as { RECEIVER?: string };

/** One event type, whose webhooks are at an endpoint that needs no challenge. */
export const events = defineEvents(
  { 'order.paid': { match: { customer: '/customer' } } },
  {
    webhooks: {
      allowInsecureLocalhost: true,
      allowedOrigins: RECEIVER === undefined ? [] : [RECEIVER],
    },
  },
);
