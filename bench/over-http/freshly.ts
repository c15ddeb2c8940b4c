import type { Contender } from '../harness/experiment.ts';

/** A contender that starts again for each round. */
export function freshly(begin: () => Promise<Contender>): Contender {
  return {
    async round() {
      const contender = await begin();
      try {
        return await contender.round();
      } finally {
        await contender.leave();
      }
    },
    leave: async () => {},
  };
}
