import type { ChangeEvent } from 'mcp-listen';
import { element, found } from '../dom.js';
import { count } from '../moment.js';
import { Outcome } from './outcome.js';
import type { Pace, Publisher } from './publisher.js';

/** A form that publishes straight to the bus, for a user with the secret. */
export class PublishForm {
  readonly #kind = choice(KINDS);
  readonly #uri = element('input', {
    type: 'text',
    value: 'note://todo',
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
  readonly #pace = choice(PACES);
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
    const uri = field('URI', this.#uri);
    const secret = field('Secret of publishers', this.#token);
    secret.classList.add('grows');
    const form = element(
      'form',
      { class: 'stack' },
      field('Event', this.#kind),
      uri,
      element('div', { class: 'pair' }, field('Times', this.#times), field('Pace', this.#pace)),
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
    found('act-publish', HTMLElement).append(form);
  }

  /** The secret, as far as it is known. */
  get token(): string {
    return this.#token.value;
  }

  set token(token: string) {
    this.#token.value = token;
  }

  async #publish(): Promise<void> {
    this.#button.disabled = true;
    this.#outcome.tell('Publishing …', 'busy');
    const times = this.#times.valueAsNumber;
    try {
      const position = await this.#publisher.publish(
        this.#event,
        times,
        this.#pace.value as Pace,
        this.token,
      );
      const events = times === 1 ? 'Published' : `${count(times)} published, the last one`;
      this.#outcome.tell(`${events} at position ${count(position)}.`, 'good');
    } catch (error) {
      this.#outcome.tell(error instanceof Error ? error.message : String(error), 'bad');
    } finally {
      this.#button.disabled = false;
    }
  }

  get #event(): ChangeEvent {
    const kind = this.#kind.value as ChangeEvent['kind'];
    return kind === 'resource_updated' ? { kind, uri: this.#uri.value } : ({ kind } as ChangeEvent);
  }
}

function field(title: string, control: HTMLElement): HTMLLabelElement {
  return element('label', { class: 'field' }, element('span', {}, title), control);
}

function choice(options: readonly (readonly [value: string, label: string])[]): HTMLSelectElement {
  return element(
    'select',
    {},
    ...options.map(([value, label]) => element('option', { value }, label)),
  );
}

const KINDS = [
  ['resource_updated', 'a resource was updated'],
  ['tools_list_changed', 'the list of tools changed'],
  ['prompts_list_changed', 'the list of prompts changed'],
  ['resources_list_changed', 'the list of resources changed'],
] as const;

const PACES = [
  ['each-after-the-last', 'each when the last is here'],
  ['fifty-a-second', '50 a second'],
  ['as-one-batch', 'all as one batch'],
] as const;
