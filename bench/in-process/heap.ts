import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import type { Scenario } from './scenario.ts';
import type { Server } from './server.ts';
import { wasmBytes } from './wasm-memory.ts';

/**
 * What idle streams keep in memory, each with the reader that waits for it: JavaScript's heap,
 * buffers, and all of WebAssembly's memory. Every round is a process of its own, so nothing is left
 * of an earlier one.
 */
export class Heap implements Contender {
  readonly #server: Server;
  readonly #scenario: Scenario;
  #audience: Audience | undefined;

  constructor(server: Server, scenario: Scenario) {
    this.#server = server;
    this.#scenario = scenario;
  }

  async round(): Promise<Sample> {
    // What the first streams load or grow once is no stream's.
    const first = await Audience.open(this.#server, {
      ...this.#scenario,
      streams: FIRST,
      matching: FIRST,
    });
    const before = await used();
    this.#audience = await Audience.open(this.#server, this.#scenario);
    const after = await used();
    this.#audience.verify(0);
    first.leave();
    return {
      heap: (after.heap - before.heap) / this.#scenario.streams,
      resident: (after.resident - before.resident) / this.#scenario.streams,
    };
  }

  async leave(): Promise<void> {
    this.#audience?.leave();
  }
}

async function used(): Promise<{ heap: number; resident: number }> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('the heap is measured with --expose-gc only');
  for (let time = 0; time < 3; time += 1) {
    gc();
    await wait(20);
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers + wasmBytes(), resident: rss };
}

const FIRST = 200;
