import { createTwoFilesPatch } from 'diff';

/** A file as it is, and as it is to be. */
export interface Change {
  /** Relative to the folder of the project. */
  path: string;
  /** Undefined: there is no such file yet. */
  before: string | undefined;
  after: string;
}

/** Whether there is anything to write. */
export function isNeeded({ before, after }: Change): boolean {
  return before !== after;
}

/** A change as a unified diff. */
export function diffOf({ path, before, after }: Change): string {
  return createTwoFilesPatch(before === undefined ? '/dev/null' : path, path, before ?? '', after);
}
