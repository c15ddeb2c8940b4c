import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { listenFor, resourceUri } from '../frame.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { Audience } from './audience.ts';
import type { LoadServer } from './load-server.ts';

/**
 * What idle streams add to the resident memory of a server's process, all its isolates together;
 * each round has a new one.
 */
export class Residence implements Contender {
  readonly #start: () => Promise<LoadServer>;
  readonly #streams: number;

  constructor(start: () => Promise<LoadServer>, streams: number) {
    this.#start = start;
    this.#streams = streams;
  }

  async round(): Promise<Sample> {
    const server = await this.#start();
    const audience = new Audience();
    try {
      // What the first streams load or grow once is no stream's.
      await audience.open(server.listen, LISTEN, FIRST);
      const before = await residentKiB(server.pid);
      await audience.open(server.listen, LISTEN, this.#streams);
      await wait(SETTLE_MS);
      return { resident: ((await residentKiB(server.pid)) - before) / this.#streams };
    } finally {
      audience.drop();
      await server.stop();
    }
  }

  async leave(): Promise<void> {}
}

/** As Linux tells it. */
async function residentKiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(status.match(/^VmRSS:\s+(\d+) kB/m)?.[1]);
}

const LISTEN = listenFor([resourceUri(0)], '1');
const FIRST = 100;
const SETTLE_MS = 500;
