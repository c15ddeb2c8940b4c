import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { root } from '../../../scripts/process/project.mjs';

/** A process or a thread on a bus, which runs `member.mjs`. */
export class Member {
  readonly #stdin: Writable;
  readonly #lines: AsyncIterator<string>;
  /** Resolves with the exit status. */
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess | undefined;

  private constructor(
    stdin: Writable,
    stdout: Readable,
    ended: Promise<unknown>,
    child?: ChildProcess,
  ) {
    this.#stdin = stdin;
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.ended = ended;
    this.#child = child;
  }

  /** Starts a process; with `uris` it holds a stream. */
  static process(kind: string, port: number, ...uris: string[]): Member {
    const child = spawn(process.execPath, [PROGRAM, kind, `${port}`, ...uris], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit').then(([status]) => status);
    return new Member(child.stdin, child.stdout, ended, child);
  }

  /** Starts a thread; with `uris` it holds a stream. */
  static thread(kind: string, ...uris: string[]): Member {
    const worker = new Worker(PROGRAM, { argv: [kind, '0', ...uris], stdin: true, stdout: true });
    const ended = once(worker, 'exit').then(([status]) => status);
    if (worker.stdin === null) throw new Error('the thread has no stdin');
    return new Member(worker.stdin, worker.stdout, ended);
  }

  /** The id of the process; 0 for a thread. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Sends it a command. */
  send(command: string): void {
    this.#stdin.write(`${command}\n`);
  }

  /** Closes everything in it, so that it can exit. */
  close(): void {
    this.#stdin.end('close\n');
  }

  /** The next line of its output. */
  async line(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next();
    return done ? undefined : value;
  }

  /** Sends the process a signal. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#child?.kill(name);
  }
}

// Inside the project, so that `mcp-listen` resolves.
const PROGRAM = join(root, 'wasm-tests', 'buses', 'members', 'member.mjs');
