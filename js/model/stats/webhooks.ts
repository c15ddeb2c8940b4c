/** Counters of the subscriptions of webhooks. */
export interface WebhookStats {
  /** Subscriptions that have not ended. */
  subscriptions: number;
  /** Subscriptions whose endpoint is down: one message at a time is tried. */
  throttled: number;
  /** Occurrences that are being sent or wait for another attempt. */
  waiting: number;
  /** Messages that are being sent. */
  inFlight: number;
}
