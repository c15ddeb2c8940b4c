import { now } from '../clock.js';
import { element, setText } from '../dom.js';
import { count, shortTime, span } from '../format.js';
import { badge } from './badge.js';
import { RequestedItem } from './requested-item.js';
import type { Subject } from './subject.js';

/**
 * The card of a subscription: its state, its id, its topics with what is honored, and its
 * counters.
 */
export class SubscriptionCard {
  readonly card: HTMLElement;
  readonly #subscription: Subject;
  readonly #state = element('span', { class: 'state' });
  readonly #id = element('code', { class: 'id' });
  readonly #error = element('p', { class: 'error' });
  readonly #requested: RequestedItem[];
  readonly #figures = new Map(FIGURES.map((name) => [name, element('dd', {}, '–')]));
  readonly #close = element('button', { type: 'button', class: 'quiet' }, 'Close');
  #flashedAt: number | undefined;

  /** @param onRemove - called when the user removes the card. */
  constructor(subscription: Subject, onRemove: () => void) {
    this.#subscription = subscription;
    this.#requested = subscription.items.map((item) => new RequestedItem(item));
    this.#close.addEventListener('click', () =>
      subscription.state === 'stopped' ? onRemove() : void subscription.close(),
    );
    this.card = element(
      'article',
      {
        class: 'card',
        'aria-labelledby': `subscription-${subscription.name}`,
        'data-name': subscription.name,
      },
      this.#head(),
      element('p', { class: 'line' }, element('span', { class: 'soft' }, 'id '), this.#id),
      element(
        'ul',
        { class: 'requested', 'aria-label': 'Requested' },
        ...this.#requested.map(({ item }) => item),
      ),
      this.#error,
      this.#table(),
    );
    this.paint();
  }

  /** Shows the current state of the subscription. */
  paint(): void {
    const { ackMs, cue, messages, honored, id, reconnects, state, tasks } = this.#subscription;
    const { ends, errorText: error } = this.#subscription;
    setText(this.#state, state);
    this.#state.dataset['state'] = state;
    this.card.dataset['state'] = state;
    setText(this.#id, id ?? 'none yet');
    for (const item of this.#requested) item.paint(honored, tasks);
    const reason = error ?? (state === 'stopped' ? 'Closed by this page.' : undefined);
    this.#error.dataset['tone'] = error === undefined ? 'soft' : 'bad';
    setText(this.#error, reason ?? '');
    this.#error.title = reason ?? '';
    setText(this.#close, state === 'stopped' ? 'Remove' : 'Close');
    this.#figure('Messages', count(messages));
    this.#figure('Reconnects', count(reconnects));
    this.#figure('Acknowledged', acknowledged(ackMs, honored !== undefined));
    this.#figure('Ends', ends);
    this.#figure('Last cue', cue === undefined ? 'none yet' : cue.topic);
    this.tick();
    if (cue !== undefined && cue.at !== this.#flashedAt) this.#flash(cue.at);
  }

  /** Updates the values that change with time. */
  tick(): void {
    const { began, cue, state } = this.#subscription;
    if (state !== 'stopped') this.#figure('Age', span(now() - began));
    this.#figure('Received', cue === undefined ? 'not yet' : `${span(now() - cue.at)} ago`);
  }

  #head(): HTMLElement {
    const { name } = this.#subscription;
    const title = element(
      'h3',
      { id: `subscription-${name}` },
      element('span', { class: 'visually-hidden' }, 'Subscription '),
    );
    title.append(badge(name));
    this.#close.setAttribute('aria-describedby', title.id);
    return element('header', {}, title, this.#state, this.#close);
  }

  #table(): HTMLElement {
    const pairs = [...this.#figures].map(([name, value]) =>
      element('div', { 'data-figure': name }, element('dt', {}, name), value),
    );
    return element('dl', { class: 'figures' }, ...pairs);
  }

  #figure(name: (typeof FIGURES)[number], text: string): void {
    const value = this.#figures.get(name);
    if (value !== undefined) setText(value, text);
  }

  /** Alternates between two names of one animation, because the same name would not restart it. */
  #flash(at: number): void {
    this.#flashedAt = at;
    this.card.dataset['flash'] = this.card.dataset['flash'] === 'a' ? 'b' : 'a';
  }
}

/** Sessions have no acknowledgment. */
function acknowledged(ackMs: number | undefined, wasLive: boolean): string {
  if (ackMs !== undefined) return `in ${shortTime(ackMs)}`;
  return wasLive ? 'none' : 'not yet';
}

const FIGURES = [
  'Age',
  'Messages',
  'Reconnects',
  'Last cue',
  'Received',
  'Ends',
  'Acknowledged',
] as const;
