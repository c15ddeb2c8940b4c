import type { ServerResponse } from 'node:http';
import { withTimeout } from '../../timing/with-timeout.js';

/** The answers that are on their way to clients. */
export class UnsentResponses {
  readonly #unsent = new Map<ServerResponse, Promise<void>>();

  /** Counts an answer until it has been sent, or its client is gone. */
  enter(outgoing: ServerResponse): void {
    if (outgoing.closed) return;
    const sent = new Promise<void>((resolve) => {
      outgoing.once('close', () => {
        this.#unsent.delete(outgoing);
        resolve();
      });
    });
    this.#unsent.set(outgoing, sent);
  }

  /** Waits for those that have begun, for `ms` milliseconds at most. Resolves with whether all of them have been sent. */
  async sent(ms: number): Promise<boolean> {
    try {
      await withTimeout(ms, Promise.all(this.#unsent.values()), () => new Error('not in time'));
      return true;
    } catch {
      return false;
    }
  }
}
