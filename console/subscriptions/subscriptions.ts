import type { SubscriptionFilter } from 'mcp-listen';
import { byId, element, setText } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import type { Topic } from '../mcp/topic.js';
import { repaint } from '../repaint.js';
import { EventSubscription } from './event-subscription.js';
import { accepts } from './filter.js';
import { nameOf } from './name.js';
import type { Subject, SubscriptionEvents } from './subject.js';
import { Subscription } from './subscription.js';
import { SubscriptionCard } from './subscription-card.js';

/** The cards of all subscriptions. */
export class Subscriptions {
  readonly #container = byId('subscriptions', HTMLElement);
  readonly #count = byId('subscriptions-count', HTMLElement);
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);
  readonly #cards = new Map<Subject, SubscriptionCard>();
  readonly #events: SubscriptionsEvents;
  readonly #paint = repaint(() => this.#paintAll());
  #opened = 0;

  constructor(events: SubscriptionsEvents) {
    this.#events = events;
    setInterval(() => this.#tick(), 1_000);
    this.#updateList();
  }

  /** Opens a subscription to change notifications. */
  async open(endpoint: Endpoint, filter: SubscriptionFilter): Promise<void> {
    const { watch } = await import('./client.js');
    const events = { ...this.#events, onChange: this.#paint };
    this.#add(new Subscription(watch, nameOf(this.#opened), filter, endpoint, events));
  }

  /** Opens a subscription to the events of a type; resolves with its name. */
  async openEvents(
    endpoint: Endpoint,
    event: { name: string; arguments: Record<string, unknown> },
  ): Promise<string> {
    const client = await import('./client.js');
    const events = { ...this.#events, onChange: this.#paint };
    const name = nameOf(this.#opened);
    const subscription = new EventSubscription(client, name, event, endpoint, events);
    this.#add(subscription);
    return subscription.name;
  }

  #add(subscription: Subject): void {
    this.#opened += 1;
    const card = new SubscriptionCard(subscription, () => this.#forget(subscription));
    this.#cards.set(subscription, card);
    this.#container.append(card.card);
    this.#updateList();
  }

  /** Returns the names of the subscriptions that will receive a cue for a topic. */
  listenersOf(topic: Topic): string[] {
    const listeners = [...this.#cards.keys()].filter(
      ({ honored, state }) => state === 'live' && accepts(honored, topic),
    );
    return listeners.map(({ name }) => name);
  }

  /** Removes a card. Its focus passes to the card beside it, or to the section without cards. */
  #forget(subscription: Subject): void {
    const card = this.#cards.get(subscription)?.card;
    const neighbor = card?.nextElementSibling ?? card?.previousElementSibling;
    card?.remove();
    this.#cards.delete(subscription);
    this.#updateList();
    const next = neighbor?.querySelector('button') ?? this.#container.closest('section');
    next?.focus();
  }

  #updateList(): void {
    if (this.#cards.size === 0) this.#container.append(this.#empty);
    else this.#empty.remove();
    this.#events.onNames([...this.#cards.keys()].map(({ name }) => name));
    this.#paintAll();
  }

  #paintAll(): void {
    for (const card of this.#cards.values()) card.paint();
    const live = [...this.#cards.keys()].filter(({ state }) => state === 'live').length;
    setText(this.#count, this.#cards.size === 0 ? '' : `${live} of ${this.#cards.size} live`);
  }

  #tick(): void {
    this.#paintAll();
  }
}

/** Receives the events of all subscriptions. */
export interface SubscriptionsEvents extends Omit<SubscriptionEvents, 'onChange'> {
  /** Called with the names of all subscriptions. */
  onNames: (names: string[]) => void;
}

const EMPTY_TEXT =
  'No subscription is open. Select topics, then open a subscription; open several to compare them.';
