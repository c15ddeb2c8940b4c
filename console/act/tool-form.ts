import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { byId, element } from '../dom.js';
import { shortTime, timeOfDay } from '../format.js';
import type { Endpoint } from '../mcp/endpoint.js';
import { record, records, text } from '../mcp/json.js';
import { type Topic, topicOfEvent } from '../mcp/topic.js';
import type { Item } from '../server/catalogue.js';
import { argumentsOf, type Field, fieldFor } from './fields.js';
import { Outcome } from './outcome.js';

/** A form that calls a tool of the server and shows the result. */
export class ToolForm {
  readonly #choice = element('select', {});
  readonly #description = element('p', { class: 'note' });
  readonly #fields = element('div', { class: 'fields' });
  readonly #button = element('button', { type: 'submit', class: 'primary' }, 'Call');
  readonly #outcome = new Outcome();
  readonly #arrivals: Arrivals;
  #tools: Item[] = [];
  #arguments = new Map<string, Field>();
  #endpoint: Endpoint | undefined;
  #isCalling = false;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
    const tool = element('label', { class: 'field' }, element('span', {}, 'Tool'), this.#choice);
    const form = element(
      'form',
      { class: 'stack' },
      tool,
      this.#description,
      this.#fields,
      this.#button,
      this.#outcome.output,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#call();
    });
    this.#choice.addEventListener('change', () => this.#draw());
    byId('act-tool', HTMLElement).append(form);
    this.tools(undefined, []);
  }

  /** Offers these tools; the selected one stays selected if it is still among them. */
  tools(endpoint: Endpoint | undefined, tools: Item[]): void {
    const chosen = this.#choice.value;
    [this.#endpoint, this.#tools] = [endpoint, tools];
    const names = tools.map(({ key }) => key);
    this.#choice.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
    if (tools.length === 0) this.#choice.append(element('option', { value: '' }, 'none yet'));
    this.#choice.disabled = tools.length === 0;
    this.#updateButton();
    if (names.includes(chosen)) this.#choice.value = chosen;
    else this.#draw();
  }

  /** Shows the form of a tool and focuses it. */
  choose(tool: Item): void {
    this.#choice.value = tool.key;
    this.#draw();
    this.#choice.focus();
  }

  #draw(): void {
    const tool = this.#tools.find(({ key }) => key === this.#choice.value);
    this.#description.textContent = tool?.description ?? '';
    const parameters = argumentsOf(tool?.raw['inputSchema']);
    const fields = parameters.map(({ name, schema, isRequired }) => {
      return [name, fieldFor(name, schema, isRequired, SUGGESTED.get(name)?.() ?? '')] as const;
    });
    this.#arguments = new Map(fields);
    this.#fields.replaceChildren(...fields.map(([, { label }]) => label));
  }

  async #call(): Promise<void> {
    const [endpoint, name] = [this.#endpoint, this.#choice.value];
    if (endpoint === undefined) return;
    this.#isCalling = true;
    this.#updateButton();
    const began = now();
    const publication = this.#arrivals.begin(began);
    try {
      const result = await endpoint.callTool(name, this.#read());
      publication.settle(topicsIn(result));
      const isError = result['isError'] === true;
      this.#outcome.show(`${textIn(result)} ${shortTime(now() - began)}`, isError ? 'bad' : 'good');
    } catch (error) {
      publication.settle([]);
      this.#outcome.show(error instanceof Error ? error.message : String(error), 'bad');
    } finally {
      this.#isCalling = false;
      this.#updateButton();
    }
    this.#suggestAgain();
  }

  /** The list may be read again during a call. */
  #updateButton(): void {
    this.#button.disabled = this.#isCalling || this.#tools.length === 0;
  }

  #read(): Record<string, unknown> {
    const entries = [...this.#arguments].map(([name, field]) => [name, field.read()] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }

  /**
   * Replaces a suggested text by a new one, because writing the same text again changes nothing.
   */
  #suggestAgain(): void {
    const control = this.#arguments.get('text')?.label.querySelector('textarea');
    if (control?.value.startsWith(PREFIX)) control.value = SUGGESTED.get('text')?.() ?? '';
  }
}

/**
 * Returns the topics of the changes that a result of the notebook names. Other servers name none,
 * and nothing is measured.
 */
function topicsIn(result: Record<string, unknown>): Topic[] {
  const changes = records(record(result['structuredContent'])?.['changes']);
  return changes.map((change) => topicOfEvent(change as Parameters<typeof topicOfEvent>[0]));
}

function textIn(result: Record<string, unknown>): string {
  return records(result['content'])
    .map((part) => text(part['text']) ?? `(${part['type']})`)
    .join(' ');
}

const PREFIX = 'Written at ';
/** Suggested values by the name of the argument, for the tools of the notebook. */
const SUGGESTED = new Map([
  ['name', () => 'todo'],
  ['text', () => `${PREFIX}${timeOfDay(Date.now())}`],
]);
