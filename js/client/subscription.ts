import { ListenError } from '../model/error.js';
import type { ChangeEvent } from '../model/event.js';
import type { SubscriptionFilter } from '../model/filter.js';
import { errorOf } from '../model/subscription-error.js';
import { type CoreSource, nextEvent, type SourceEvent } from './transport/core-source.js';

/** A protocol revision: 2026-07-28, or one of the earlier revisions with sessions. */
export type Revision = '2026-07-28' | '2025-11-25' | '2025-06-18' | '2025-03-26';

/**
 * An open subscription. Iterating yields the changes; repeated changes of one topic collapse into
 * one event until it is read. A graceful end ends the loop; a lost stream throws a
 * {@link ListenError}. Leaving the loop closes the subscription.
 */
export interface Subscription extends AsyncIterable<ChangeEvent>, AsyncDisposable {
  /**
   * The id of the listen request as JSON text. Empty in a session, which has no listen request.
   */
  readonly id: string;
  /** The part of the filter that the server honors. */
  readonly honored: SubscriptionFilter;
  /** The revision that the server speaks. */
  readonly revision: Revision;
  /** Ends the subscription: closes the stream, or cancels it at the server. */
  close(): Promise<void>;
}

/** A subscription that reads the events of a source. One reader at a time. */
export class SourceSubscription implements Subscription {
  readonly id: string;
  readonly honored: SubscriptionFilter;
  readonly revision: Revision;
  readonly #source: CoreSource;
  readonly #signal: AbortSignal | undefined;
  #isClosed = false;

  constructor(
    source: CoreSource,
    { honored, id = '', version }: Extract<SourceEvent, { kind: 'live' }>,
    signal: AbortSignal | undefined,
  ) {
    this.#source = source;
    this.#signal = signal;
    this.honored = honored;
    this.id = id;
    this.revision = version as Revision;
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChangeEvent, void, undefined> {
    try {
      for (let event = await this.#next(); event !== undefined; event = await this.#next())
        yield event;
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#abort);
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #next(): Promise<ChangeEvent | undefined> {
    const event = await nextEvent(this.#source, () => this.#isClosed);
    this.#signal?.throwIfAborted();
    if (event === undefined) return undefined;
    if (event.kind === 'changed') return event.event;
    if (event.kind !== 'stopped')
      throw new ListenError(
        'invalid-response',
        `unexpected ${event.kind} after the subscription was open`,
      );
    const error = errorOf(event.end, event.cause);
    if (error !== undefined) throw error;
    return undefined;
  }

  readonly #abort = (): void => void this.close();
}
