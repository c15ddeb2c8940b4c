import { now } from '../clock.js';
import { element, write } from '../dom.js';
import { count, span } from '../moment.js';
import { badge } from './badge.js';
import { wishesOf } from './filter.js';
import type { Subscription } from './subscription.js';
import { WishItem } from './wish-item.js';

/**
 * A subscription as a card: its state, its id, honored against requested, and what it has been
 * through.
 */
export class SubscriptionCard {
  readonly card: HTMLElement;
  readonly #subscription: Subscription;
  readonly #state = element('span', { class: 'state' });
  readonly #id = element('code', { class: 'id' });
  readonly #trouble = element('p', { class: 'trouble', hidden: true });
  readonly #wishes: WishItem[];
  readonly #figures = new Map(FIGURES.map((name) => [name, element('dd', {}, '–')]));
  readonly #close = element('button', { type: 'button', class: 'quiet' }, 'Close');
  #flashed: number | undefined;

  /** @param leave - called when the card is to go. */
  constructor(subscription: Subscription, leave: () => void) {
    this.#subscription = subscription;
    this.#wishes = wishesOf(subscription.requested).map((wish) => new WishItem(wish));
    this.#close.addEventListener('click', () =>
      subscription.state === 'stopped' ? leave() : void subscription.close(),
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
        { class: 'wishes', 'aria-label': 'Requested' },
        ...this.#wishes.map(({ item }) => item),
      ),
      this.#trouble,
      this.#table(),
    );
    this.paint();
  }

  /** Shows how the subscription is now. */
  paint(): void {
    const { id, frames, cue, honored, reconnects, state, tasks, trouble } = this.#subscription;
    write(this.#state, state);
    this.#state.dataset['state'] = state;
    this.card.dataset['state'] = state;
    write(this.#id, id ?? 'none yet');
    for (const wish of this.#wishes) wish.paint(honored, tasks);
    this.#trouble.hidden = trouble === undefined;
    write(this.#trouble, trouble ?? '');
    write(this.#close, state === 'stopped' ? 'Remove' : 'Close');
    this.#figure('Frames', count(frames));
    this.#figure('Reconnects', count(reconnects));
    this.#figure('Last cue', cue === undefined ? 'none yet' : cue.subject);
    this.tick();
    if (cue !== undefined && cue.at !== this.#flashed) this.#flash(cue.at);
  }

  /** Shows what changes with time alone. */
  tick(): void {
    const { began, cue, state } = this.#subscription;
    if (state !== 'stopped') this.#figure('Age', span(now() - began));
    this.#figure('Heard', cue === undefined ? 'not yet' : `${span(now() - cue.at)} ago`);
  }

  #head(): HTMLElement {
    const { name } = this.#subscription;
    const title = element(
      'h3',
      { id: `subscription-${name}` },
      element('span', { class: 'unseen' }, 'Subscription '),
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
    if (value !== undefined) write(value, text);
  }

  /** Two names for one animation, in turn: the same name would not start it again. */
  #flash(at: number): void {
    this.#flashed = at;
    this.card.dataset['flash'] = this.card.dataset['flash'] === 'a' ? 'b' : 'a';
  }
}

const FIGURES = ['Age', 'Frames', 'Reconnects', 'Last cue', 'Heard'] as const;
