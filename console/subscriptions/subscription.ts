import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import { type Watch, watch } from 'mcp-listen/client';
import { now } from '../clock.js';
import { Conversation } from '../mcp/conversation.js';
import { CLIENT, type Endpoint } from '../mcp/endpoint.js';
import type { Frame } from '../mcp/frame.js';
import type { Topic } from '../mcp/topic.js';

/** Receives the events of a subscription. */
export interface SubscriptionEvents {
  /** Called with every message that is sent or received. */
  onFrame: (frame: Frame) => void;
  /** Called when a topic has to be read again. */
  onStale: (topic: Topic) => Promise<void> | undefined;
  /** Called when anything about the subscription has changed. */
  onChange: () => void;
}

/**
 * One subscription of the page: keeps it open with the client of this package, and stores what the
 * card shows.
 */
export class Subscription {
  /** One or more letters, unique in the page. */
  readonly name: string;
  readonly requested: SubscriptionFilter;
  /** When it was requested. */
  readonly began = now();
  /** The id of its latest listen request, as JSON. */
  id: string | undefined;
  /** Number of received frames. */
  frames = 0;
  /** Its latest cue. */
  cue: { topic: Topic; at: number } | undefined;
  /** The latest state of each task that it has received, by the id of the task. */
  readonly tasks = new Map<string, TaskState>();
  readonly #conversation = new Conversation();
  readonly #watch: Watch;
  #honored: SubscriptionFilter | undefined;
  readonly #events: SubscriptionEvents;

  constructor(
    name: string,
    requested: SubscriptionFilter,
    endpoint: Endpoint,
    events: SubscriptionEvents,
  ) {
    this.name = name;
    this.requested = requested;
    this.#events = events;
    const stale = (topic: Topic) => () => events.onStale(topic);
    this.#watch = watch(
      endpoint.url,
      requested,
      {
        ...{ tools: stale('tools'), prompts: stale('prompts'), resources: stale('resources') },
        resource: events.onStale,
        task: (task) => this.#updateTask(task),
      },
      {
        clientInfo: CLIENT,
        ...(endpoint.token === '' ? {} : { token: endpoint.token }),
        onMessage: ({ direction, text }) => this.#handleMessage(direction, text),
      },
    );
    this.#watch.subscribe(events.onChange);
  }

  /** The state of the watch. */
  get state(): Watch['state'] {
    return this.#watch.state;
  }

  /**
   * The part of the requested filter that the server honors, or honored when the subscription was
   * last live; undefined before the first acknowledgment.
   */
  get honored(): SubscriptionFilter | undefined {
    this.#honored = this.#watch.honored ?? this.#honored;
    return this.#honored;
  }

  /** How often it was reopened. */
  get reconnects(): number {
    return this.#watch.reconnects;
  }

  /** Why it waits or has stopped, as text. */
  get errorText(): string | undefined {
    const { error } = this.#watch;
    if (error === undefined || error.message.includes(error.code)) return error?.message;
    return `${error.message} (${error.code})`;
  }

  /** Ends the subscription. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  #updateTask(task: TaskState): void {
    this.tasks.set(task.taskId, task);
    this.#events.onChange();
  }

  #handleMessage(direction: 'in' | 'out', text: string): void {
    const frame = this.#conversation.frame({ at: now(), source: this.name, direction, text });
    if (frame.kind === 'request' || frame.kind === 'ack') this.id = frame.subscription ?? this.id;
    if (direction === 'in') this.frames += 1;
    if (frame.topic !== undefined) this.cue = { topic: frame.topic, at: frame.at };
    this.#events.onFrame(frame);
    this.#events.onChange();
  }
}
