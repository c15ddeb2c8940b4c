import type { Destination, Tap } from '../message.js';
import { messagesIn } from './messages.js';

/**
 * Returns a `fetch` that calls `tap` with every message that is sent to a server and received from
 * it. Other requests, such as those that obtain tokens, are not observed.
 */
export function tappedFetch(tap: Tap, to: Destination, send: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.url !== to.url) return send(request);
    const body = await request.clone().text();
    if (body !== '') tap('out', body, to);
    const response = await send(request);
    if (response.type !== 'opaqueredirect') void observe(response.clone(), tap);
    return response;
  };
}

async function observe(response: Response, tap: Tap): Promise<void> {
  try {
    for await (const message of messagesIn(response)) tap('in', message);
  } catch {
    // The client reports a lost connection.
  }
}
