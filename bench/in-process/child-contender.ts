import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onStop } from '../../scripts/process/main.mjs';
import type { Contender, Sample } from '../harness/experiment.ts';
import type { Scenario } from './scenario.ts';
import type { ServerName } from './servers.ts';

/** What a child process is told to measure. */
export interface Task {
  kind: 'fan-out' | 'attach' | 'heap' | 'close';
  server: ServerName;
  scenario: Scenario;
}

/** What a child process answers to each command; an empty sample once it is ready. */
export type Answer = { sample: Sample } | { failed: string };

/**
 * A contender in a process of its own: neither its heap nor its compiled code knows the others'.
 */
export class ChildContender implements Contender {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts the process; resolves when its streams are open. */
  static async start(task: Task): Promise<ChildContender> {
    const child = fork(CHILD, [JSON.stringify(task)], { execArgv: FLAGS, stdio: 'inherit' });
    const contender = new ChildContender(child);
    onStop(() => void child.kill());
    await contender.#answer();
    return contender;
  }

  round(): Promise<Sample> {
    this.#child.send('round');
    return this.#answer();
  }

  async leave(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }

  async #answer(): Promise<Sample> {
    const waiting = new AbortController();
    const { signal } = waiting;
    const answered = once(this.#child, 'message', { signal });
    const exited = once(this.#child, 'exit', { signal }).then(([code, by]) => [
      { failed: `ended with ${code ?? by}` },
    ]);
    try {
      const [answer] = (await Promise.race([answered, exited])) as [Answer];
      if ('failed' in answer) throw new Error(answer.failed);
      return answer.sample;
    } finally {
      waiting.abort();
      await Promise.allSettled([answered, exited]);
    }
  }
}

/** A contender whose every round is a process of its own. */
export class FreshContender implements Contender {
  readonly #task: Task;

  constructor(task: Task) {
    this.#task = task;
  }

  async round(): Promise<Sample> {
    const contender = await ChildContender.start(this.#task);
    try {
      return await contender.round();
    } finally {
      await contender.leave();
    }
  }

  async leave(): Promise<void> {}
}

const CHILD = join(import.meta.dirname, 'child.ts');
/** A hundred thousand streams need more than Node gives by default; the collector can be called. */
const FLAGS = ['--expose-gc', '--max-old-space-size=8192', '--disable-warning=ExperimentalWarning'];
