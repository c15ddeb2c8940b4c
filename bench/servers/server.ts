/** A server in this process, which serves listens and publishes changes of resources. */
export interface Server {
  fetch(request: Request): Promise<Response>;
  /** Publishes one change by the public API of the contender. */
  publish(uri: string): unknown;
}

/** A server that can be closed. */
export interface ClosableServer extends Server {
  /** Ends all streams gracefully. */
  close(): Promise<void>;
}

/** Milliseconds between keep-alives: the timers exist, but none fires while frames are counted. */
export const KEEP_ALIVE_MS = 3_600_000;

/** More streams than any experiment opens. */
export const MANY_STREAMS = 1_000_000;
