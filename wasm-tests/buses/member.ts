import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { root } from '../../scripts/process/project.mjs';

/** A process or a thread on a bus, as `member.mjs` has it. */
export class Member {
  readonly #stdin: Writable;
  readonly #lines: AsyncIterator<string>;
  /** Resolves with the status when it has ended by itself. */
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

  /** A process; with `uris` it holds a stream. */
  static process(kind: string, port: number, ...uris: string[]): Member {
    const child = spawn(process.execPath, [PROGRAM, kind, `${port}`, ...uris], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit').then(([status]) => status);
    return new Member(child.stdin, child.stdout, ended, child);
  }

  /** A thread. */
  static thread(kind: string, ...uris: string[]): Member {
    const worker = new Worker(PROGRAM, { argv: [kind, '0', ...uris], stdin: true, stdout: true });
    const ended = once(worker, 'exit').then(([status]) => status);
    if (worker.stdin === null) throw new Error('the thread has no stdin');
    return new Member(worker.stdin, worker.stdout, ended);
  }

  /** Gives it a command. */
  tell(command: string): void {
    this.#stdin.write(`${command}\n`);
  }

  /** Has it close everything, so that it can end. */
  close(): void {
    this.#stdin.end('close\n');
  }

  /** The next line that it says. */
  async said(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next();
    return done ? undefined : value;
  }

  /** Stops the process, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#child?.kill(name);
  }
}

// Inside the project, so that its own name resolves.
const PROGRAM = join(root, 'wasm-tests', 'buses', 'member.mjs');
