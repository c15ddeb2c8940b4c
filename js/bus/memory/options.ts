import type { EventLogMaker } from '../events.js';
import type { RetentionOptions } from '../retention.js';
import type { WantedOptions } from '../wanted/options.js';

/** Options of `InMemoryBus`. */
export interface InMemoryBusOptions extends RetentionOptions {
  /**
   * Called with exceptions of listeners, and with the error of each publish that fails, awaited or
   * not.
   *
   * @default console.error
   */
  onError?: (error: Error) => void;
  /**
   * Opens the log of occurrences of MCP Events: `eventLog()` of `mcp-listen/events`. Without it the
   * bus carries changes only.
   *
   * @default undefined
   */
  events?: EventLogMaker;
  /**
   * Hooks for what streams subscribe to, and `isWanted`: `{}` enables the latter alone.
   *
   * @default undefined
   */
  wanted?: WantedOptions;
}
