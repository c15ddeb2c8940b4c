/** What is measured in process: answers listens, and publishes changes of resources. */
export interface Server {
  fetch(request: Request): Promise<Response>;
  /** Publishes one change, as the contender's own users would. */
  publish(uri: string): unknown;
}

/** A server that can be closed. */
export interface ClosableServer extends Server {
  /** Ends all streams gracefully. */
  close(): Promise<void>;
}

/**
 * Between keep-alives. Every server keeps the timers that it has by default, and none of them fires
 * while frames are counted.
 */
export const KEEP_ALIVE_MS = 3_600_000;

/** More streams than any experiment opens. */
export const MANY_STREAMS = 1_000_000;
