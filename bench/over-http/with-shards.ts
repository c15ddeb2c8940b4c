import type { Contender } from '../harness/experiment.ts';
import type { LoadServer } from './servers/server.ts';

/** A contender whose rounds fail unless its bus has `count` shards; 1 stands for no shards. */
export async function withShards(
  server: LoadServer,
  count: number,
  measure: (server: LoadServer) => Promise<Contender>,
): Promise<Contender> {
  const contender = await measure(server);
  return {
    async round() {
      const sample = await contender.round();
      const shards = (await (await fetch(new URL('/shards', server.publish))).json()) as number;
      if (Math.max(1, shards) !== count)
        throw new Error(`the bus has ${shards} shards, not ${count}`);
      return sample;
    },
    leave: () => contender.leave(),
  };
}
