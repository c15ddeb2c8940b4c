/**
 * A log of occurrences that a broker keeps, in one order for all processes.
 *
 * @internal
 */
export interface BrokerLog {
  /**
   * Adds an occurrence, given as JSON text. Resolves with its position once the broker has it. It
   * must not be added any more when `timeout` has aborted.
   */
  append(occurrence: string, timeout: AbortSignal): Promise<number>;
  /**
   * Keeps a copy up to date until the broker is lost (rejects) or `signal` aborts (resolves or
   * rejects). It is called again after each loss, and continues the copy if the log still has
   * everything after its end.
   */
  follow(copy: LogCopy, signal: AbortSignal): Promise<void>;
}

/** A position in a log of occurrences. */
export interface LogEnd {
  /** Identifies the log. */
  epoch: string;
  position: number;
}

/** What a broker holds of a log. */
export interface LogState {
  /** Identifies the log: positions of different logs are not comparable. Visible ASCII. */
  epoch: string;
  /** The position of the first entry; without entries, the position of the next one. */
  first: number;
  /** The position of the last entry that was ever added; 0 if there was none. */
  last: number;
  /**
   * For each name, the position up to which occurrences of it were removed; that of the empty name
   * is for all other names.
   */
  trimmed: Iterable<[name: string, position: number]>;
}

/** An entry of a log of occurrences. */
export interface LogEntry {
  position: number;
  /** When it was added, in milliseconds since 1970, by the clock of the broker. */
  at: number;
  /** The occurrence as JSON text. */
  text: string;
}

/** The copy of a log that a process keeps. */
export interface LogCopy {
  /** The position of its last entry; undefined if it is a copy of no log yet. */
  readonly end: LogEnd | undefined;
  /** Begins to follow a log. Returns the position after which the copy continues. */
  open(log: LogState): number;
  /**
   * Adds entries, in order. If some are missing, what the copy has of earlier ones is dropped.
   *
   * @throws Error if the positions do not ascend: it is another log.
   */
  append(entries: LogEntry[]): void;
}
