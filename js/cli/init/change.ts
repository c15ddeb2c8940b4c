import { createTwoFilesPatch } from 'diff';

/** The current and the new text of a file. */
export interface Change {
  /** Relative to the folder of the project. */
  path: string;
  /** Undefined if the file does not exist yet. */
  before: string | undefined;
  after: string;
}

/** Returns whether the change has to be written. */
export function isNeeded({ before, after }: Change): boolean {
  return before !== after;
}

/** Returns the change as a unified diff. */
export function diffOf({ path, before, after }: Change): string {
  return createTwoFilesPatch(before === undefined ? '/dev/null' : path, path, before ?? '', after);
}
