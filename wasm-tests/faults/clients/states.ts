import type { World } from '../world.ts';
import type { Publisher } from './publisher.ts';

/** As many as one filter may have; their states do not collapse with each other. */
export const TASKS = Array.from({ length: 250 }, (_, place) => `task-${place}`);
/** Events that fill the buffers of the operating system between an edge and its unread client. */
export const WARM_UP = 3_000;
/** The digits of their states, so that they are 12 MB together. */
export const WIDE = 4_000;

/** Publishes states of the tasks in turn; in one call each task once, so that none collapse. */
export async function publishStates(
  { publisher, world }: { publisher: Publisher; world: World },
  from: number,
  count: number,
  digits = 1,
): Promise<void> {
  for (let at = from; at < from + count; at += TASKS.length)
    await world.call('publishStates', TASKS, at, digits);
  const last = from + count - TASKS.length;
  for (const [place, task] of TASKS.entries()) publisher.knows(task, last + place);
}
