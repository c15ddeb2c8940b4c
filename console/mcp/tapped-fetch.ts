import type { Tap } from './endpoint.js';
import type { Destination } from './frame.js';
import { messagesIn } from './wire.js';

/** Returns a `fetch` that calls `tap` with every message that is sent and received. */
export function tappedFetch(tap: Tap, to: Destination): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = await request.clone().text();
    if (body !== '') tap('out', body, to);
    const response = await fetch(request);
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
