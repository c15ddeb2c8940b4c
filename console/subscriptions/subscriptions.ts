import type { SubscriptionFilter } from 'mcp-listen';
import { element, found, write } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import type { Subject } from '../mcp/subject.js';
import { repaint } from '../repaint.js';
import { accepts } from './filter.js';
import { nameOf } from './name.js';
import { type Following, Subscription } from './subscription.js';
import { SubscriptionCard } from './subscription-card.js';

/** The subscriptions side by side. */
export class Subscriptions {
  readonly #place = found('subscriptions', HTMLElement);
  readonly #count = found('subscriptions-count', HTMLElement);
  readonly #empty = element('p', { class: 'empty' }, NOBODY);
  readonly #cards = new Map<Subscription, SubscriptionCard>();
  readonly #following: SubscriptionsFollowing;
  readonly #paint = repaint(() => this.#all());
  #opened = 0;

  constructor(following: SubscriptionsFollowing) {
    this.#following = following;
    setInterval(() => this.#tick(), 1_000);
    this.#listed();
  }

  /** Opens one more. */
  open(endpoint: Endpoint, filter: SubscriptionFilter): Subscription {
    const name = nameOf(this.#opened);
    this.#opened += 1;
    const subscription = new Subscription(name, filter, endpoint, {
      ...this.#following,
      onChange: this.#paint,
    });
    const card = new SubscriptionCard(subscription, () => this.#forget(subscription));
    this.#cards.set(subscription, card);
    this.#place.append(card.card);
    this.#listed();
    return subscription;
  }

  /** The names of those that will hear of this. */
  hearing(subject: Subject): string[] {
    const hearing = [...this.#cards.keys()].filter(
      ({ honored, state }) => state === 'live' && accepts(honored, subject),
    );
    return hearing.map(({ name }) => name);
  }

  #forget(subscription: Subscription): void {
    this.#cards.get(subscription)?.card.remove();
    this.#cards.delete(subscription);
    this.#listed();
  }

  #listed(): void {
    if (this.#cards.size === 0) this.#place.append(this.#empty);
    else this.#empty.remove();
    this.#following.onNames([...this.#cards.keys()].map(({ name }) => name));
    this.#all();
  }

  #all(): void {
    for (const card of this.#cards.values()) card.paint();
    const live = [...this.#cards.keys()].filter(({ state }) => state === 'live').length;
    write(this.#count, this.#cards.size === 0 ? '' : `${live} of ${this.#cards.size} live`);
  }

  #tick(): void {
    for (const card of this.#cards.values()) card.tick();
  }
}

/** Receives the events of all subscriptions. */
export interface SubscriptionsFollowing extends Omit<Following, 'onChange'> {
  /** These are there now. */
  onNames: (names: string[]) => void;
}

const NOBODY =
  'Nobody listens yet. Tick what you want to hear of, then open a subscription; open several to compare them.';
