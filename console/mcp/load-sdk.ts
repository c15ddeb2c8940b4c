import { config } from 'zod/v4/core';

/** Loads what the page uses of the official client: when it connects, and not before. */
export function loadSdk(): Promise<typeof import('./sdk.js')> {
  // The schemas of that client would be compiled to code, which the policy of the page forbids.
  config({ jitless: true });
  return import('./sdk.js');
}
