import type { ServerEvent } from 'mcp-listen';
import type { Occurrence } from './events.js';

/**
 * What a write came to: the sentence for its caller and the changes to announce, or why it was
 * refused.
 */
export type Outcome = Done | Refusal;

/** A write that was accepted; without changes it found everything as it should be. */
export interface Done {
  refused: false;
  says: string;
  changes: ServerEvent[];
  occurrences: Occurrence[];
}

/** A request that wrote nothing and ran nothing. */
export interface Refusal {
  refused: true;
  says: string;
}

/** The outcome of a write that changed something. */
export function changed(
  says: string,
  changes: ServerEvent[],
  occurrences: Occurrence[] = [],
): Done {
  return { refused: false, says, changes, occurrences };
}

/** The outcome of a write that found nothing to change. */
export function unchanged(says: string): Done {
  return { refused: false, says: `${says} Nothing changed.`, changes: [], occurrences: [] };
}

/** The outcome of a request that the notebook does not carry out. */
export function refused(says: string): Refusal {
  return { refused: true, says };
}
