import type { ServerResponse } from 'node:http';
import { withTimeout } from '../../timing/with-timeout.js';

/** The responses that have not been sent completely. */
export class UnsentResponses {
  readonly #unsent = new Map<ServerResponse, Promise<void>>();

  /** Tracks a response until it was sent or its client has disconnected. */
  track(outgoing: ServerResponse): void {
    if (outgoing.closed) return;
    const allSent = new Promise<void>((resolve) => {
      outgoing.once('close', () => {
        this.#unsent.delete(outgoing);
        resolve();
      });
    });
    this.#unsent.set(outgoing, allSent);
  }

  /**
   * Waits for all tracked responses, for `ms` milliseconds at most. Resolves with whether all of
   * them were sent or closed in time.
   */
  async allSent(ms: number): Promise<boolean> {
    try {
      await withTimeout(ms, Promise.all(this.#unsent.values()), () => new Error('not in time'));
      return true;
    } catch {
      return false;
    }
  }
}
