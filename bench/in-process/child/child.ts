import type { Contender } from '../../harness/experiment.ts';
import { serverOf } from '../../servers/servers.ts';
import { Attach } from '../attach.ts';
import { Close } from '../close.ts';
import { CountedFanOut } from '../counted-fan-out.ts';
import { FanOut } from '../fan-out.ts';
import { Heap } from '../heap.ts';
import { watchWasmMemory } from '../wasm-memory.ts';
import type { Reply, Task } from './contender.ts';

/** Runs one contender in this process: a round for each message, until the parent disconnects. */
async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '{}') as Task;
  watchWasmMemory();
  const contender = await contenderOf(task);
  process.on('message', () => void contender.round().then((sample) => reply({ sample }), fail));
  process.on('disconnect', () => process.exit());
  reply({ sample: {} });
}

async function contenderOf({ kind, server: name, scenario }: Task): Promise<Contender> {
  if (kind === 'close') return new Close(() => serverOf(name), scenario);
  const server = await serverOf(name);
  switch (kind) {
    case 'fan-out':
      return FanOut.start(server, scenario);
    case 'counted-fan-out':
      return CountedFanOut.start(server, scenario);
    case 'attach':
      return Attach.start(server, scenario);
    case 'heap':
      return new Heap(server, scenario);
  }
}

function reply(sent: Reply): void {
  process.send?.(sent);
}

function fail(error: Error): void {
  reply({ failed: error.message });
}

await main().catch(fail);
