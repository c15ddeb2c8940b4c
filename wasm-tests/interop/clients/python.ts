import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../../../scripts/process/project.mjs';

/** A typed event of the Python SDK, or how its stream ended. */
export type PythonEvent = { event: string; uri?: string } | { end: 'graceful' | 'lost' };

/** The keyword arguments of the Python SDK's `listen`. */
export interface PythonFilter {
  tools_list_changed?: boolean;
  prompts_list_changed?: boolean;
  resources_list_changed?: boolean;
  resource_subscriptions?: string[];
}

/** The result of a request, or the error of the server as the SDK's caller sees it. */
export interface Reply {
  result?: Record<string, unknown>;
  refusal?: { code: number; data?: unknown };
}

/** The Python SDK's client in a separate process. */
export class PythonClient {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (reply: ReplyLine) => void>();
  #complaints = '';
  #last = 0;

  /**
   * Starts a client of the server at a URL, or of a program on stdio with its arguments; it
   * connects before it responds to its first command. To a URL it declares these extensions.
   */
  constructor(
    server: string | string[],
    mode: 'auto' | 'legacy' = 'auto',
    extensions: readonly string[] = [],
  ) {
    this.#process = spawn(join(root, '.tools', 'python', 'bin', 'python'), [
      SCRIPT,
      mode,
      ...[server].flat(),
      ...extensions,
    ]);
    this.#process.stderr.setEncoding('utf8').on('data', (text) => {
      this.#complaints += text;
    });
    createInterface({ input: this.#process.stdout }).on('line', (line) =>
      this.#settle(JSON.parse(line) as ReplyLine),
    );
    this.#process.once('close', () => this.#giveUp());
  }

  /** Opens a subscription; returns the honored filter. */
  async listen(subscription: string, filter: PythonFilter): Promise<unknown> {
    return (await this.#ask({ do: 'listen', subscription, filter }))['honored'];
  }

  /** The next event of a subscription. */
  async nextEvent(subscription: string): Promise<PythonEvent> {
    const { id: _, ...event } = await this.#ask({ do: 'next_event', subscription });
    return event as unknown as PythonEvent;
  }

  /** Leaves a subscription. */
  async close(subscription: string): Promise<void> {
    await this.#ask({ do: 'close', subscription });
  }

  /** Subscribes a session to a resource; returns the revision of the session. */
  async subscribe(uri: string): Promise<unknown> {
    return (await this.#ask({ do: 'subscribe', uri }))['version'];
  }

  /** Unsubscribes a session from a resource. */
  async unsubscribe(uri: string): Promise<void> {
    await this.#ask({ do: 'unsubscribe', uri });
  }

  /** The next notification of a session: the method without prefix and, for an update, the URI. */
  async nextNotification(): Promise<string> {
    const { method, uri } = await this.#ask({ do: 'next_notification' });
    return [String(method).replace('notifications/', ''), uri].filter(Boolean).join(' ');
  }

  /** Calls a tool; returns its text, and throws a tool error. */
  async callTool(tool: string, args: Record<string, unknown> = {}): Promise<string> {
    const { is_error: isError, text } = await this.#ask({ do: 'call_tool', tool, arguments: args });
    if (isError) throw new Error(String(text));
    return String(text);
  }

  /** The names in a list; for resources, their URIs. */
  async list(what: 'tools' | 'prompts' | 'resources'): Promise<string[]> {
    return (await this.#ask({ do: 'list', what }))['names'] as string[];
  }

  /** Sends a request whose method the SDK does not know. */
  async request(method: string, params: Record<string, unknown>): Promise<Reply> {
    return (await this.#ask({ do: 'request', method, params })) as Reply;
  }

  /** The text of a resource. */
  async read(uri: string): Promise<string> {
    return String((await this.#ask({ do: 'read', uri }))['text']);
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    this.#process.stdin.end();
    await once(this.#process, 'close');
  }

  async #ask(command: Record<string, unknown>): Promise<ReplyLine> {
    this.#last += 1;
    const id = this.#last;
    this.#process.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    const reply = await new Promise<ReplyLine>((resolve) => this.#waiting.set(id, resolve));
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply;
  }

  #settle(reply: ReplyLine): void {
    this.#waiting.get(reply.id)?.(reply);
    this.#waiting.delete(reply.id);
  }

  #giveUp(): void {
    for (const id of [...this.#waiting.keys()])
      this.#settle({ id, error: `the client ended\n${this.#complaints}` });
  }
}

interface ReplyLine {
  id: number;
  error?: string;
  [member: string]: unknown;
}

const SCRIPT = join(import.meta.dirname, 'notebook_client.py');
