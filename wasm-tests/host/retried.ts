import { setTimeout } from 'node:timers/promises';

/**
 * Calls `attempt` until it succeeds, and returns its result. Throws the last error after `withinMs`
 * milliseconds. For hooks, where `expect.poll` does not work, and for callers that need the result.
 */
export async function retried<T>(attempt: () => Promise<T>, withinMs = 20_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await setTimeout(50);
  }
}
