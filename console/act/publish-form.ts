import type { ChangeEvent } from 'mcp-listen';
import { byId, element, isBusy, labelled, setBusy } from '../dom.js';
import { count } from '../format.js';
import { CHANGES } from '../mcp/topic.js';
import type { Item } from '../server/catalogue.js';
import { Outcome } from './outcome.js';
import type { Pace, Publisher } from './publisher.js';

/** A form that publishes to the bus, for a user who has the token of operators. */
export class PublishForm {
  readonly #kind = select(CHANGES);
  readonly #uri = element('input', {
    type: 'text',
    list: 'uris',
    required: true,
    spellcheck: 'false',
  });
  readonly #times = element('input', {
    type: 'number',
    min: 1,
    max: 1000,
    value: 1,
    required: true,
  });
  readonly #pace = select(PACES);
  readonly #token = element('input', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  readonly #button = element('button', { type: 'submit', class: 'primary' }, 'Publish');
  readonly #outcome = new Outcome();
  readonly #publisher: Publisher;

  constructor(publisher: Publisher) {
    this.#publisher = publisher;
    const uri = labelled('URI', this.#uri);
    const secret = labelled('Publish secret', this.#token);
    secret.classList.add('grows');
    const form = element(
      'form',
      { class: 'stack' },
      labelled('Event', this.#kind),
      uri,
      element(
        'div',
        { class: 'pair' },
        labelled('Count', this.#times),
        labelled('Rate', this.#pace),
      ),
      element('div', { class: 'row' }, secret, this.#button),
      this.#outcome.output,
    );
    this.#kind.addEventListener('change', () => {
      uri.hidden = this.#uri.disabled = this.#kind.value !== 'resource_updated';
    });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#publish();
    });
    byId('act-publish', HTMLElement).append(form);
  }

  /** Offers the URIs of these resources; the first one unless another was entered. */
  offer(items: readonly Item[]): void {
    if (this.#uri.value === '') this.#uri.value = items[0]?.key ?? '';
  }

  /** The URI that was entered or offered. */
  get uri(): string {
    return this.#uri.value;
  }

  /** The token of operators; empty if it was not entered. */
  get token(): string {
    return this.#token.value;
  }

  set token(token: string) {
    this.#token.value = token;
  }

  async #publish(): Promise<void> {
    if (isBusy(this.#button)) return;
    setBusy(this.#button, true);
    this.#outcome.show('Publishing …', 'busy');
    const times = this.#times.valueAsNumber;
    try {
      const position = await this.#publisher.publish(
        this.#event,
        times,
        this.#pace.value as Pace,
        this.token,
      );
      this.#outcome.show(published(times, position), 'good');
    } catch (error) {
      this.#outcome.show(error instanceof Error ? error.message : String(error), 'bad');
    } finally {
      setBusy(this.#button, false);
    }
  }

  get #event(): ChangeEvent {
    const kind = this.#kind.value as ChangeEvent['kind'];
    return kind === 'resource_updated' ? { kind, uri: this.#uri.value } : ({ kind } as ChangeEvent);
  }
}

function published(times: number, position: number | undefined): string {
  const events = times === 1 ? 'Published' : `${count(times)} published`;
  if (position === undefined) return `${events}.`;
  return `${events}${times === 1 ? '' : ', the last'} at position ${count(position)}.`;
}

function select(options: readonly (readonly [value: string, label: string])[]): HTMLSelectElement {
  return element(
    'select',
    {},
    ...options.map(([value, label]) => element('option', { value }, label)),
  );
}

const PACES = [
  ['each-after-the-last', 'one after the other'],
  ['fifty-a-second', '50 per second'],
  ['as-one-batch', 'one batch'],
] as const;
