import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type {
  ChannelMember,
  ChannelReceiver,
  ListenChannel,
} from '../../client/transport/channel.js';

/** How to start an MCP server on stdio. */
export interface StdioTarget {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
}

/** A server that runs: a `ChildProcess` whose stdin and stdout are pipes. */
export interface StdioProcess {
  stdin: Writable;
  stdout: Readable;
}

/**
 * A server on stdio to listen to. One that is to be started runs for each subscription anew, and
 * ends with it; one that runs already is left running, and what is not for the subscription is left
 * to whoever reads its stdout too.
 *
 * @example
 * ```ts
 * const watching = watch(stdio({ command: 'node', args: ['server.js'] }), { toolsListChanged: true }, () => readTools());
 * ```
 */
export function stdio(target: StdioTarget | StdioProcess): ListenChannel {
  if (!('stdin' in target)) return { join: (receiver) => started(target, receiver) };
  const known = running.get(target);
  if (known !== undefined) return known;
  const channel = { join: (receiver: ChannelReceiver) => new Member(target, receiver) };
  running.set(target, channel);
  return channel;
}

function started(
  { command, args = [], env, cwd }: StdioTarget,
  receiver: ChannelReceiver,
): ChannelMember {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(env && { env: { ...process.env, ...env } }),
    ...(cwd !== undefined && { cwd }),
  });
  child.once('error', (error) => receiver.gone(error));
  return new Member(child, receiver, () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill(), GRACE_MS);
    child.once('exit', () => clearTimeout(timer));
    timer.unref();
  });
}

class Member implements ChannelMember {
  readonly era = 'unknown';
  readonly #process: StdioProcess;
  readonly #receiver: ChannelReceiver;
  readonly #left: () => void;

  constructor(child: StdioProcess, receiver: ChannelReceiver, left = () => {}) {
    this.#process = child;
    this.#receiver = receiver;
    this.#left = left;
    child.stdout.on('data', this.#take).once('close', this.#end);
    child.stdin.on('error', this.#end);
  }

  send(text: string): void {
    this.#process.stdin.write(`${text}\n`);
  }

  leave(): void {
    const { stdin, stdout } = this.#process;
    stdout.off('data', this.#take).off('close', this.#end);
    stdin.off('error', this.#end);
    this.#left();
  }

  readonly #take = (lines: Uint8Array): void => void this.#receiver.receive(lines);
  readonly #end = (cause?: unknown): void => this.#receiver.gone(cause);
}

/** A server has this long to end by itself, in milliseconds. */
const GRACE_MS = 2_000;
/** One channel a process: its subscriptions share no ids. */
const running = new WeakMap<StdioProcess, ListenChannel>();
