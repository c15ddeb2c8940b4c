import { byId, element, isBusy, setBusy } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import type { Item } from '../server/catalogue.js';
import { Choice } from './choice.js';
import { type Argument, type Field, fieldFor, valuesOf } from './fields.js';
import { Outcome } from './outcome.js';

/** What a form does with an entry of a list. */
export interface Action {
  /** The id of the element that contains the form. */
  container: string;
  /** The noun for an entry, such as `Tool`. */
  noun: string;
  /** The text of the button. */
  button: string;
  /** Returns the arguments of an entry. */
  argumentsOf: (item: Item) => Argument[];
  /** Acts with the arguments; an error is shown. */
  act: (
    endpoint: Endpoint,
    item: Item,
    args: Record<string, unknown>,
    outcome: Outcome,
  ) => Promise<void>;
}

/** A form that acts on one entry of a list, with a field for each argument. */
export class CallForm {
  readonly #choice: Choice;
  readonly #fields = element('div', { class: 'fields' });
  readonly #button: HTMLButtonElement;
  readonly #outcome = new Outcome();
  readonly #action: Action;
  #arguments = new Map<string, Field>();
  #endpoint: Endpoint | undefined;

  constructor(action: Action) {
    this.#action = action;
    this.#button = element('button', { type: 'submit', class: 'primary' }, action.button);
    this.#choice = new Choice(action.noun, (item) => this.#draw(item));
    const form = element(
      'form',
      { class: 'stack' },
      this.#choice.field,
      this.#choice.description,
      this.#fields,
      this.#button,
      this.#outcome.output,
      this.#outcome.json,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act();
    });
    byId(action.container, HTMLElement).append(form);
    this.offer(undefined, []);
  }

  /** Offers these entries of a server. */
  offer(endpoint: Endpoint | undefined, items: Item[]): void {
    this.#endpoint = endpoint;
    this.#choice.offer(items);
    this.#updateButton();
  }

  /** Shows the form of an entry and focuses it. */
  choose(item: Item): void {
    this.#choice.choose(item);
  }

  #draw(item: Item | undefined): void {
    const fields = (item === undefined ? [] : this.#action.argumentsOf(item)).map(
      (argument) => [argument.name, fieldFor(argument)] as const,
    );
    this.#arguments = new Map(fields);
    this.#fields.replaceChildren(...fields.map(([, { label }]) => label));
    this.#updateButton();
  }

  async #act(): Promise<void> {
    const [endpoint, item] = [this.#endpoint, this.#choice.item];
    if (endpoint === undefined || item === undefined || isBusy(this.#button)) return;
    setBusy(this.#button, true);
    try {
      await this.#action.act(endpoint, item, valuesOf(this.#arguments), this.#outcome);
    } catch (error) {
      this.#outcome.fail(error);
    } finally {
      setBusy(this.#button, false);
    }
    for (const field of this.#arguments.values()) field.renew?.();
  }

  #updateButton(): void {
    this.#button.hidden = this.#choice.item === undefined;
  }
}
