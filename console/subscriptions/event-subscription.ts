import type { SubscriptionFilter } from 'mcp-listen';
import type { EventWatch } from 'mcp-listen/client';
import { now } from '../clock.js';
import { authorization } from '../mcp/access/access.js';
import { Conversation } from '../mcp/conversation.js';
import { CLIENT, type Endpoint } from '../mcp/endpoint.js';
import { tappedFetch } from '../mcp/http/tapped-fetch.js';
import type { Tap } from '../mcp/message.js';
import { Ends } from './ends.js';
import type { FilterItem } from './filter.js';
import type { Subject, SubscriptionEvents } from './subject.js';

/** One subscription to the events of a type, kept open with the client of this package. */
export class EventSubscription implements Subject {
  readonly name: string;
  readonly items: FilterItem[];
  readonly began = now();
  readonly tasks = new Map<never, never>();
  id: string | undefined;
  messages = 0;
  ackMs: number | undefined;
  cue: Subject['cue'];
  honored: SubscriptionFilter | undefined;
  readonly #conversation = new Conversation();
  readonly #events: SubscriptionEvents;
  readonly #ends = new Ends();
  readonly #watch: EventWatch;
  #sentAt = this.began;
  #gaps = 0;
  #state: Subject['state'] = 'connecting';

  constructor(
    client: typeof import('./client.js'),
    name: string,
    event: { name: string; arguments: Record<string, unknown> },
    endpoint: Endpoint,
    events: SubscriptionEvents,
  ) {
    this.name = name;
    this.#events = events;
    const args = JSON.stringify(event.arguments);
    const label = `event ${event.name}${args === '{}' ? '' : ` ${args}`}`;
    this.items = [{ label, isIn: () => true }];
    const changed = () => events.onChange();
    const handlers = {
      event: () => this.#handleEvent(event.name),
      gap: () => {
        this.#gaps += 1;
        changed();
      },
      terminated: () => this.#handleEnd('terminated'),
    };
    this.#watch = client.watch(endpoint.url, client.events(event.name, event.arguments), handlers, {
      clientInfo: CLIENT,
      ...authorization(endpoint.access),
      fetch: tappedFetch(this.#tap, endpoint.destination, endpoint.access.fetch),
      // An event that could not be delivered ends nothing.
      onError: ({ code }) => this.state !== 'live' && this.#handleEnd(code),
    });
    this.#watch.subscribe(() => this.#handleChange());
  }

  get state(): Subject['state'] {
    return this.#watch.state;
  }

  get reconnects(): number {
    return this.#watch.reconnects;
  }

  get errorText(): string | undefined {
    const { error } = this.#watch;
    if (error !== undefined) return `${error.message} (${error.code})`;
    if (this.#gaps === 0) return undefined;
    const gaps = this.#gaps === 1 ? 'a gap' : `${this.#gaps} gaps`;
    return `Events may be missing: the server reported ${gaps}.`;
  }

  get ends(): string {
    return this.#ends.text;
  }

  async close(): Promise<void> {
    if (this.state !== 'stopped') this.#handleEnd('closed here');
    await this.#watch.close();
  }

  /** Counts an end with a result: other ends have their own handlers. */
  #handleChange(): void {
    const { error, state } = this.#watch;
    if (state === 'waiting' && state !== this.#state && error === undefined)
      this.#ends.add('graceful');
    this.#state = state;
    this.#events.onChange();
  }

  #handleEnd(reason: string): void {
    this.#ends.add(reason);
    this.#events.onChange();
  }

  #handleEvent(name: string): void {
    this.cue = { topic: `event ${name}`, at: now() };
    this.#events.onChange();
  }

  readonly #tap: Tap = (direction, text, to) => {
    const observed = { at: now(), source: this.name, direction, text, to };
    const message = this.#conversation.message(observed);
    if (message.kind === 'request') {
      this.id = message.subscription ?? this.id;
      this.#sentAt = message.at;
    }
    if (message.kind === 'ack') {
      this.ackMs = message.at - this.#sentAt;
      this.honored = {};
    }
    if (direction === 'in') this.messages += 1;
    this.#events.onMessage(message);
    this.#events.onChange();
  };
}
