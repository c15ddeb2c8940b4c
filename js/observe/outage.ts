import type { Log } from './log.js';

/** A log for places where nobody would catch what it throws. */
export function safely(onlog: Log | undefined, onerror: (error: Error) => void): Log {
  return (record) => {
    try {
      onlog?.(record);
    } catch (error) {
      onerror(error as Error);
    }
  };
}

/** Tells a log when a bus is lost, and when it is back. */
export class Outage {
  readonly #onlog: Log;
  #since: number | undefined;

  constructor(onlog: Log) {
    this.#onlog = onlog;
  }

  /** So many streams have that bus, which is away or not. */
  tell(isAway: boolean, streams: number): void {
    const since = this.#since;
    if (isAway === (since !== undefined)) return;
    this.#since = isAway ? performance.now() : undefined;
    if (since === undefined) this.#onlog({ event: 'outage', streams });
    else this.#onlog({ event: 'heal', streams, awayMs: Math.round(performance.now() - since) });
  }
}
