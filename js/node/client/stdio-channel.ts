import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type {
  ChannelMember,
  ChannelReceiver,
  ListenChannel,
} from '../../client/transport/channel.js';

/** How to start an MCP server on stdio. */
export interface StdioTarget {
  /** The program to start. */
  command: string;
  /** Its arguments. */
  args?: string[];
  /** Variables to add to the environment of this process. */
  env?: Record<string, string>;
  /** Its working directory; without it, that of this process. */
  cwd?: string;
}

/** A running server: a `ChildProcess` whose stdin and stdout are pipes. */
export interface StdioProcess {
  /** The stream that the server reads. */
  stdin: Writable;
  /** The stream that the server writes. */
  stdout: Readable;
}

/**
 * Returns a server on stdio as a target. A `StdioTarget` is started for each subscription and ends
 * with it. A `StdioProcess` keeps running; its other messages are left to the code that also reads
 * its stdout.
 *
 * @example
 * ```ts
 * const target = stdio({ command: 'node', args: ['server.js'] });
 * const watching = watch(target, { toolsListChanged: true }, () => readTools());
 * ```
 */
export function stdio(target: StdioTarget | StdioProcess): ListenChannel {
  if (!('stdin' in target)) return { join: (receiver) => start(target, receiver) };
  const known = running.get(target);
  if (known !== undefined) return known;
  const tap = new ProcessTap(target);
  const { stdin, stdout } = target;
  const channel = {
    // The streams of a process that has exited emit no more events.
    join: (receiver: ChannelReceiver) =>
      stdin.writable && stdout.readable ? new ProcessMember(tap, receiver) : undefined,
  };
  running.set(target, channel);
  return channel;
}

function start(
  { command, args = [], env, cwd }: StdioTarget,
  receiver: ChannelReceiver,
): ChannelMember {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(env && { env: { ...process.env, ...env } }),
    ...(cwd !== undefined && { cwd }),
  });
  child.once('error', (error) => receiver.gone(error));
  // What is written last may fail after this client has left.
  child.stdin.on('error', () => {});
  return new ProcessMember(new ProcessTap(child), receiver, () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill(), GRACE_MS);
    child.once('exit', () => clearTimeout(timer));
    timer.unref();
  });
}

class ProcessMember implements ChannelMember {
  readonly revision = 'unknown';
  readonly #tap: ProcessTap;
  readonly #receiver: ChannelReceiver;
  readonly #onLeave: () => void;

  constructor(tap: ProcessTap, receiver: ChannelReceiver, onLeave = () => {}) {
    this.#tap = tap;
    this.#receiver = receiver;
    this.#onLeave = onLeave;
    tap.add(receiver);
  }

  send(text: string): void {
    this.#tap.process.stdin.write(`${text}\n`);
  }

  leave(): void {
    this.#tap.delete(this.#receiver);
    this.#onLeave();
  }
}

/** Passes the output of a process, and its end, to all receivers. Reads nothing without one. */
class ProcessTap {
  readonly process: StdioProcess;
  readonly #receivers = new Set<ChannelReceiver>();

  constructor(process: StdioProcess) {
    this.process = process;
  }

  add(receiver: ChannelReceiver): void {
    const { stdin, stdout } = this.process;
    if (this.#receivers.size === 0) {
      stdout.on('data', this.#receive).on('close', this.#close);
      stdin.on('error', this.#end);
    }
    this.#receivers.add(receiver);
  }

  delete(receiver: ChannelReceiver): void {
    const { stdin, stdout } = this.process;
    if (!this.#receivers.delete(receiver) || this.#receivers.size > 0) return;
    stdout.off('data', this.#receive).off('close', this.#close);
    stdin.off('error', this.#end);
  }

  readonly #receive = (lines: Uint8Array): void => {
    for (const receiver of [...this.#receivers]) receiver.receive(lines);
  };

  // The event of a pipe has an argument that is no cause: whether there was an error.
  readonly #close = (): void => this.#end();

  readonly #end = (cause?: unknown): void => {
    for (const receiver of [...this.#receivers]) receiver.gone(cause);
  };
}

/** Milliseconds that a server has to exit on its own before it is killed. */
const GRACE_MS = 2_000;
/** The channel of each process: its subscriptions must not share ids. */
const running = new WeakMap<StdioProcess, ListenChannel>();
