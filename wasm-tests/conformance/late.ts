import { recordRepeat } from '../../scripts/lanes/tally.mjs';
import type { Run } from './suite.ts';

/** A server that the suite examines. */
export interface Served {
  url: string;
  /** The id of its process. */
  pid: number;
  stop: () => Promise<void>;
}

/**
 * Runs the suite against a server, and again against another one, twice at most, while the machine
 * may be to blame: a process waited for a processor, and the suite found nothing wrong except in
 * streams that it reads for 0.5 to 1.5 s. The scenarios in `ignored` may fail.
 *
 * @param repeats - called before each repetition, which the line of the lane counts.
 */
export async function punctual(
  serve: () => Promise<Served>,
  examine: (url: string, pid: number) => Promise<Run>,
  ignored: string[] = [],
  repeats: () => Promise<void> = recordRepeat,
): Promise<Run> {
  for (let attempt = 1; ; attempt += 1) {
    const { url, pid, stop } = await serve();
    const outcome = await examine(`${url}/mcp`, pid).finally(stop);
    const late = latenessIn(outcome, ignored);
    if (late === undefined || attempt === ATTEMPTS) return outcome;
    const waited = `waited for a processor for ${Math.round(outcome.waitedMs)} ms`;
    const next = `attempt ${attempt + 1} of ${ATTEMPTS}`;
    await repeats();
    console.warn(`The suite runs again (${next}): a process ${waited}. ${late}`);
  }
}

/** What the suite found wrong, if the machine may be to blame for all of it. */
function latenessIn({ checks, waitedMs }: Run, ignored: string[]): string | undefined {
  if (waitedMs < STALL_MS) return undefined;
  const judged = [...checks].filter(([name]) => !ignored.includes(name));
  const wrong = judged
    .flatMap(([, all]) => all)
    .filter(({ status }) => !['SUCCESS', 'INFO', 'SKIPPED'].includes(status))
    .map(({ errorMessage = '' }) => errorMessage);
  return wrong.every((text) => LATE.test(text)) ? wrong[0] : undefined;
}

/** What the suite says of a stream on which nothing has arrived when it stops reading. */
const LATE = new RegExp(
  `^(${[
    'Failed to open or receive frames',
    'Failed to open stream line',
    'Failed to receive progressive stream chunk execution frames',
    'Logging target endpoint context dropped',
    'Strict subscription filtering line failed',
    'Mutated the (tool|prompt) list but no ',
  ].join('|')})`,
);
const ATTEMPTS = 3;
/** Milliseconds of a wait: a shorter one is not why the shortest read, of 500 ms, ends early. */
const STALL_MS = 200;
