import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../harness/experiment.ts';
import type { Server } from '../servers/server.ts';
import { Readers } from './readers.ts';
import type { Scenario } from './scenario.ts';
import { wasmBytes } from './wasm-memory.ts';

/**
 * The memory of idle streams with their readers: JavaScript's heap, buffers, and all memory of
 * WebAssembly. Each round runs in a new process.
 */
export class Heap implements Contender {
  readonly #server: Server;
  readonly #scenario: Scenario;
  #readers: Readers | undefined;

  constructor(server: Server, scenario: Scenario) {
    this.#server = server;
    this.#scenario = scenario;
  }

  async round(): Promise<Sample> {
    // The first streams load code and grow memory that all streams share.
    const first = await Readers.open(this.#server, {
      ...this.#scenario,
      streams: FIRST,
      matching: FIRST,
    });
    const before = await used();
    this.#readers = await Readers.open(this.#server, this.#scenario);
    const after = await used();
    this.#readers.verify(0);
    first.leave();
    const grown = Object.keys(after).map((kind): [string, number] => {
      const key = kind as keyof Used;
      return [kind, (after[key] - before[key]) / this.#scenario.streams];
    });
    return Object.fromEntries(grown);
  }

  async leave(): Promise<void> {
    this.#readers?.leave();
  }
}

/** Bytes in use, by the metric of their growth. */
interface Used {
  /** The three below together. */
  heap: number;
  javascript: number;
  buffers: number;
  wasm: number;
  resident: number;
}

async function used(): Promise<Used> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('the heap is measured with --expose-gc only');
  for (let time = 0; time < 3; time += 1) {
    gc();
    await wait(20);
  }
  const { heapUsed: javascript, arrayBuffers: buffers, rss: resident } = process.memoryUsage();
  const wasm = wasmBytes();
  return { heap: javascript + buffers + wasm, javascript, buffers, wasm, resident };
}

const FIRST = 200;
