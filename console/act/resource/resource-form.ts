import { now } from '../../clock.js';
import { byId, element, labelled, setText } from '../../dom.js';
import type { Endpoint } from '../../mcp/endpoint.js';
import type { Item } from '../../server/catalogue.js';
import { Outcome } from '../outcome.js';
import { sideBySide } from './difference.js';
import { contentText, ResourceStates } from './resource-states.js';
import { expanded, variablesOf } from './uri-template.js';

/**
 * A form that reads a resource and shows its state beside the last one. After a cue for the
 * resource it is read again.
 */
export class ResourceForm {
  readonly #uri = element('input', {
    type: 'text',
    list: 'uris',
    required: true,
    spellcheck: 'false',
  });
  readonly #uris = element('datalist', { id: 'uris' });
  readonly #variables = element('div', { class: 'fields' });
  readonly #button = element('button', { type: 'submit', class: 'primary' }, 'Read');
  readonly #outcome = new Outcome();
  readonly #panes = element('div', { class: 'state-panes' });
  readonly #states = new ResourceStates();
  #endpoint: Endpoint | undefined;
  /** The resource that is shown. */
  #shown: string | undefined;

  constructor() {
    const uri = labelled('URI', this.#uri, true);
    const form = element(
      'form',
      { class: 'stack' },
      this.#variables,
      element('div', { class: 'row' }, uri, this.#button),
      this.#uris,
      this.#outcome.output,
      this.#panes,
      this.#outcome.json,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#read(this.#uri.value);
    });
    byId('act-resource', HTMLElement).append(form);
    this.offer(undefined, []);
  }

  /** Offers these resources of a server. */
  offer(endpoint: Endpoint | undefined, items: Item[]): void {
    if (endpoint !== this.#endpoint) this.#forget();
    this.#endpoint = endpoint;
    this.#uris.replaceChildren(...items.map(({ key }) => element('option', { value: key })));
    if (this.#uri.value === '') this.#uri.value = items[0]?.key ?? '';
    this.#button.disabled = endpoint === undefined;
  }

  /** Reads a resource. */
  choose({ key }: Item): void {
    this.#variables.replaceChildren();
    this.#uri.value = key;
    void this.#read(key);
  }

  /** Asks for the variables of a template. */
  fillIn({ key, raw }: Item): void {
    const template = String(raw['uriTemplate'] ?? key);
    const inputs = variablesOf(template).map((name) => {
      const input = element('input', { type: 'text', spellcheck: 'false' });
      return [name, input] as const;
    });
    const fields = inputs.map(([name, input]) => labelled(name, input));
    const fill = () => {
      const values = new Map(inputs.map(([name, { value }]) => [name, value]));
      this.#uri.value = expanded(template, values);
    };
    for (const [, input] of inputs) input.addEventListener('input', fill);
    this.#variables.replaceChildren(...fields);
    fill();
    inputs[0]?.[1].focus();
  }

  /** Reads a resource again after a cue, if it was read before. */
  async stale(uri: string): Promise<void> {
    if (this.#states.get(uri) !== undefined) await this.#read(uri, uri === this.#shown);
  }

  async #read(uri: string, isShown = true): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === undefined) return;
    if (isShown) this.#shown = uri;
    try {
      const result = await endpoint.request('resources/read', { uri });
      if (endpoint !== this.#endpoint) return;
      this.#states.add(uri, { text: contentText(result), at: now() });
      if (this.#shown === uri) this.#show(uri, result);
    } catch (error) {
      if (this.#shown === uri) this.#outcome.fail(error);
    }
  }

  #show(uri: string, result: Record<string, unknown>): void {
    const states = this.#states.get(uri);
    if (states === undefined) return;
    const { before, now: current } = states;
    this.#outcome.show(before === undefined ? READ : CHANGED, 'good', result);
    this.#panes.replaceChildren(...sideBySide(current, before));
  }

  #forget(): void {
    this.#states.clear();
    this.#shown = undefined;
    this.#uri.value = '';
    this.#variables.replaceChildren();
    this.#panes.replaceChildren();
    this.#outcome.output.hidden = true;
    this.#outcome.json.hidden = true;
    setText(this.#outcome.output, '');
  }
}

const READ = 'Read. It is read again when a subscription receives a cue for it.';
const CHANGED = 'Changed since it was first read. Marked lines differ from the last state.';
