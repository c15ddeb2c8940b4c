import { NEEDS_KEEP_ALIVES } from './clients.js';
import type { Examination } from './examination.js';
import type { TestedRevision } from './report.js';
import type { MessageStream } from './wire/message-stream.js';

/** Waits until an idle stream gets a byte, which a client takes as a sign of life. */
export async function keepAlive(
  { options, report }: Examination,
  revision: TestedRevision,
  stream: MessageStream,
): Promise<void> {
  const before = stream.lastByteMs;
  const isAlive = () => stream.comments > 0 || stream.lastByteMs > before;
  await stream.until(isAlive, options.keepAliveMs - (stream.ageMs - before));
  const seconds = options.keepAliveMs / 1_000;
  if (isAlive()) report.ok(revision, 'keep-alive', 'an idle stream gets keep-alives');
  else if (stream.end === undefined)
    report.warn(
      revision,
      'keep-alive',
      `an idle stream got no byte within ${seconds} s`,
      NEEDS_KEEP_ALIVES,
    );
}
