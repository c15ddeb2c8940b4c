import type { WebhookRows } from '../../../dist/bus/events.js';

/** The rows of subscriptions in `texts`, by their ids. They keep no watermarks. */
export function rowsIn(texts: Map<string, string>): WebhookRows {
  return {
    has: (id) => texts.has(id),
    subscriptions: () => [...texts].map(([id, text]) => ({ id, text })),
    put: (id, text) => void texts.set(id, text),
    remove: (id) => void texts.delete(id),
    watermarks: () => [],
    putWatermark: () => {},
    removeWatermark: () => {},
  };
}
