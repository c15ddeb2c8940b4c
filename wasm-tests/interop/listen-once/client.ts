/**
 * A client of an official SDK that listens once for changes of the list of tools. It does not
 * listen again when its stream ends, and receives nothing from then on.
 */
export interface ListenOnceClient {
  /** The names of the tools, as the client read them after the last notification. */
  tools(): Promise<string[]>;
  /** How its stream ended; undefined while it is open. */
  end(): Promise<string | undefined>;
  /** Ends the client. */
  stop(): Promise<void>;
}

/** Connects a client to the MCP endpoint at `url`; resolves when it listens. */
export type Connect = (url: string) => Promise<ListenOnceClient>;
