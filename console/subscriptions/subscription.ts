import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import { type Watch, watch } from 'mcp-listen/client';
import { now } from '../clock.js';
import { Conversation } from '../mcp/conversation.js';
import { CLIENT, type Endpoint } from '../mcp/endpoint.js';
import type { Frame } from '../mcp/frame.js';
import type { Subject } from '../mcp/subject.js';

/** Receives the events of a subscription. */
export interface Following {
  /** A JSON-RPC text went out or came in. */
  onFrame: (frame: Frame) => void;
  /** Something has to be read again. */
  onStale: (subject: Subject) => Promise<void> | undefined;
  /** Anything about it has changed. */
  onChange: () => void;
}

/**
 * One subscription of the page: our own client keeps it open, this remembers what has to be shown.
 */
export class Subscription {
  /** A letter or several, as no other subscription of the page has them. */
  readonly name: string;
  readonly requested: SubscriptionFilter;
  /** When it was asked for. */
  readonly began = now();
  /** The id of its latest listen request, as JSON. */
  id: string | undefined;
  /** How many frames it has received. */
  frames = 0;
  /** Its latest cue. */
  cue: { subject: Subject; at: number } | undefined;
  /** The latest state of each task that it has received, by the id of the task. */
  readonly tasks = new Map<string, TaskState>();
  readonly #said = new Conversation();
  readonly #watch: Watch;
  #honored: SubscriptionFilter | undefined;
  readonly #following: Following;

  constructor(
    name: string,
    requested: SubscriptionFilter,
    endpoint: Endpoint,
    following: Following,
  ) {
    this.name = name;
    this.requested = requested;
    this.#following = following;
    const stale = (subject: Subject) => () => following.onStale(subject);
    this.#watch = watch(
      endpoint.url,
      requested,
      {
        ...{ tools: stale('tools'), prompts: stale('prompts'), resources: stale('resources') },
        resource: following.onStale,
        task: (task) => this.#note(task),
      },
      {
        clientInfo: CLIENT,
        ...(endpoint.token === '' ? {} : { token: endpoint.token }),
        onMessage: ({ direction, text }) => this.#see(direction, text),
      },
    );
    this.#watch.subscribe(following.onChange);
  }

  /** What it is doing. */
  get state(): Watch['state'] {
    return this.#watch.state;
  }

  /**
   * What the server honors of what was requested, or did when it was live last; undefined until it
   * has said so.
   */
  get honored(): SubscriptionFilter | undefined {
    this.#honored = this.#watch.honored ?? this.#honored;
    return this.#honored;
  }

  /** How often it was opened again. */
  get reconnects(): number {
    return this.#watch.reconnects;
  }

  /** Why it waits or has stopped. */
  get trouble(): string | undefined {
    const { error } = this.#watch;
    if (error === undefined || error.message.includes(error.code)) return error?.message;
    return `${error.message} (${error.code})`;
  }

  /** Gives it up. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  #note(task: TaskState): void {
    this.tasks.set(task.taskId, task);
    this.#following.onChange();
  }

  #see(direction: 'in' | 'out', text: string): void {
    const frame = this.#said.frame({ at: now(), source: this.name, direction, text });
    if (frame.kind === 'request' || frame.kind === 'ack') this.id = frame.subscription ?? this.id;
    if (direction === 'in') this.frames += 1;
    if (frame.about !== undefined) this.cue = { subject: frame.about, at: frame.at };
    this.#following.onFrame(frame);
    this.#following.onChange();
  }
}
