import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import type { Watch, watch } from 'mcp-listen/client';
import { now } from '../clock.js';
import { authorization } from '../mcp/access/access.js';
import { Conversation } from '../mcp/conversation.js';
import { CLIENT, type Endpoint } from '../mcp/endpoint.js';
import type { Destination } from '../mcp/message.js';
import type { Topic } from '../mcp/topic.js';
import { Ends } from './ends.js';
import { type FilterItem, filterItems } from './filter.js';
import type { Subject, SubscriptionEvents } from './subject.js';

/**
 * One subscription of the page: keeps it open with the client of this package, and stores what the
 * card shows.
 */
export class Subscription implements Subject {
  readonly name: string;
  readonly items: FilterItem[];
  readonly began = now();
  id: string | undefined;
  messages = 0;
  ackMs: number | undefined;
  cue: Subject['cue'];
  readonly tasks = new Map<string, TaskState>();
  readonly #conversation = new Conversation();
  readonly #destination: Destination;
  readonly #watch: Watch;
  readonly #ends = new Ends();
  #honored: SubscriptionFilter | undefined;
  #isClosed = false;
  #sentAt = this.began;
  #state: Watch['state'] = 'connecting';
  readonly #events: SubscriptionEvents;

  constructor(
    open: typeof watch,
    name: string,
    requested: SubscriptionFilter,
    endpoint: Endpoint,
    events: SubscriptionEvents,
  ) {
    this.name = name;
    this.items = filterItems(requested);
    this.#destination = endpoint.destination;
    this.#events = events;
    const stale = (topic: Topic) => () => events.onStale(topic);
    this.#watch = open(
      endpoint.url,
      requested,
      {
        ...{ tools: stale('tools'), prompts: stale('prompts') },
        ...{ resources: stale('resources'), events: stale('events') },
        resource: events.onStale,
        task: (task) => this.#updateTask(task),
      },
      {
        clientInfo: CLIENT,
        ...authorization(endpoint.access),
        onMessage: ({ direction, text }) => this.#handleMessage(direction, text),
      },
    );
    this.#watch.subscribe(() => this.#handleChange());
  }

  get state(): Watch['state'] {
    return this.#watch.state;
  }

  get honored(): SubscriptionFilter | undefined {
    this.#honored = this.#watch.honored ?? this.#honored;
    return this.#honored;
  }

  get reconnects(): number {
    return this.#watch.reconnects;
  }

  get errorText(): string | undefined {
    const { error } = this.#watch;
    if (error === undefined || error.message.includes(error.code)) return error?.message;
    return `${error.message} (${error.code})`;
  }

  get ends(): string {
    return this.#ends.text;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#watch.close();
  }

  /** Counts an end each time that a stream ends or the watch stops, but no failed attempt. */
  #handleChange(): void {
    const { error, state } = this.#watch;
    const wasLive = this.#state === 'live' && state === 'waiting';
    const hasEnded = wasLive || (state !== this.#state && state === 'stopped');
    if (hasEnded) this.#ends.add(this.#isClosed ? 'closed here' : (error?.code ?? 'graceful'));
    this.#state = state;
    this.#events.onChange();
  }

  #updateTask(task: TaskState): void {
    this.tasks.set(task.taskId, task);
    this.#events.onChange();
  }

  #handleMessage(direction: 'in' | 'out', text: string): void {
    const to = direction === 'out' ? this.#destination : undefined;
    const observed = { at: now(), source: this.name, direction, text, to };
    const message = this.#conversation.message(observed);
    if (message.kind === 'request' || message.kind === 'ack')
      this.id = message.subscription ?? this.id;
    if (message.kind === 'request') this.#sentAt = message.at;
    if (message.kind === 'ack') this.ackMs = message.at - this.#sentAt;
    if (direction === 'in') this.messages += 1;
    if (message.topic !== undefined) this.cue = { topic: message.topic, at: message.at };
    this.#events.onMessage(message);
    this.#events.onChange();
  }
}
