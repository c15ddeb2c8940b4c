import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../../harness/experiment.ts';
import { listenFor, resourceUri } from '../../requests.ts';
import { Readers } from '../client/readers.ts';
import type { LoadServer } from '../servers/server.ts';

/** Resident memory that idle streams add to a server's process, a new one for each round. */
export class Residence implements Contender {
  readonly #start: () => Promise<LoadServer>;
  readonly #streams: number;

  constructor(start: () => Promise<LoadServer>, streams: number) {
    this.#start = start;
    this.#streams = streams;
  }

  async round(): Promise<Sample> {
    const server = await this.#start();
    const readers = new Readers();
    try {
      // The first streams load code and grow memory that all streams share.
      await readers.open(server.listen, LISTEN, FIRST);
      const before = await residentKiB(server.pid);
      await readers.open(server.listen, LISTEN, this.#streams);
      await wait(SETTLE_MS);
      return { resident: ((await residentKiB(server.pid)) - before) / this.#streams };
    } finally {
      readers.drop();
      await server.stop();
    }
  }

  async leave(): Promise<void> {}
}

/** Resident memory of a process (Linux). */
async function residentKiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(status.match(/^VmRSS:\s+(\d+) kB/m)?.[1]);
}

const LISTEN = listenFor([resourceUri(0)], '1');
/** With 1,000 more, within the 1,024 streams that the Python SDK opens by default. */
const FIRST = 20;
const SETTLE_MS = 500;
