import type { ServerEvent } from 'mcp-listen';
import type { Occurrence } from './events.js';

/** The outcome of a write: a message and the changes to publish, or why it was refused. */
export type Outcome = Done | Refusal;

/** A write that was accepted. It has no changes if everything was already as requested. */
export interface Done {
  refused: false;
  message: string;
  changes: ServerEvent[];
  occurrences: Occurrence[];
}

/** A request that was refused and had no effect. */
export interface Refusal {
  refused: true;
  message: string;
}

/** Returns the outcome of a write that changed something. */
export function changed(
  message: string,
  changes: ServerEvent[],
  occurrences: Occurrence[] = [],
): Done {
  return { refused: false, message, changes, occurrences };
}

/** Returns the outcome of a write that had nothing to change. */
export function unchanged(message: string): Done {
  return { refused: false, message: `${message} Nothing changed.`, changes: [], occurrences: [] };
}

/** Returns the outcome of a request that the notebook refuses. */
export function refused(message: string): Refusal {
  return { refused: true, message };
}
