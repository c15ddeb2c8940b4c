import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onStop } from '../../../scripts/process/main.mjs';
import type { Contender, Sample } from '../../harness/experiment.ts';
import type { ServerName } from '../../servers/servers.ts';
import type { Scenario } from '../scenario.ts';

/** What a child process measures. */
export interface Task {
  kind: 'fan-out' | 'counted-fan-out' | 'attach' | 'heap' | 'close';
  server: ServerName;
  scenario: Scenario;
}

/** The reply of a child process to each command. An empty sample says that it is ready. */
export type Reply = { sample: Sample } | { failed: string };

/** A contender in a separate process, with its own heap and compiled code. */
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
    await contender.#reply();
    return contender;
  }

  round(): Promise<Sample> {
    this.#child.send('round');
    return this.#reply();
  }

  async leave(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }

  async #reply(): Promise<Sample> {
    const waiting = new AbortController();
    const { signal } = waiting;
    const replied = once(this.#child, 'message', { signal });
    const exited = once(this.#child, 'exit', { signal }).then(([code, by]) => [
      { failed: `ended with ${code ?? by}` },
    ]);
    try {
      const [reply] = (await Promise.race([replied, exited])) as [Reply];
      if ('failed' in reply) throw new Error(reply.failed);
      return reply.sample;
    } finally {
      waiting.abort();
      await Promise.allSettled([replied, exited]);
    }
  }
}

/** A contender that runs each round in a new process. */
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
/** 100,000 streams need more heap than Node's default; `heap` calls the garbage collector. */
const FLAGS = ['--expose-gc', '--max-old-space-size=8192', '--disable-warning=ExperimentalWarning'];
