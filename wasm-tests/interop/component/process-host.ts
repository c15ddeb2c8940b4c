import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ComponentHost, Play, Played } from './host.ts';

/** A program of another language: a line of JSON in for each request, one out for its response. */
export class ProcessHost implements ComponentHost {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #complaints = '';

  constructor(command: string, args: string[]) {
    this.#process = spawn(command, args);
    this.#process.stderr.setEncoding('utf8').on('data', (text) => {
      this.#complaints += text;
    });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async play(play: Play): Promise<Played> {
    this.#process.stdin.write(`${JSON.stringify(play)}\n`);
    const { done, value } = await this.#lines.next();
    if (done) throw new Error(`the host has ended: ${this.#complaints}`);
    return JSON.parse(value);
  }

  async close(): Promise<void> {
    const closed = once(this.#process, 'close');
    this.#process.stdin.end();
    await closed;
  }
}
