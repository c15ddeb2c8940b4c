import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { element, found } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import { record, records, text } from '../mcp/json.js';
import { type Subject, subjectOfEvent } from '../mcp/subject.js';
import { shortTime, timeOfDay } from '../moment.js';
import type { Item } from '../server/catalogue.js';
import { argumentsOf, type Field, fieldFor } from './fields.js';
import { Outcome } from './outcome.js';

/** A form that calls a tool of the server, and shows what it says. */
export class ToolForm {
  readonly #choice = element('select', {});
  readonly #about = element('p', { class: 'note' });
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
      this.#about,
      this.#fields,
      this.#button,
      this.#outcome.output,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#call();
    });
    this.#choice.addEventListener('change', () => this.#draw());
    found('act-tool', HTMLElement).append(form);
    this.tools(undefined, []);
  }

  /** Offers these tools; the one that is chosen stays so while it is there. */
  tools(endpoint: Endpoint | undefined, tools: Item[]): void {
    const chosen = this.#choice.value;
    [this.#endpoint, this.#tools] = [endpoint, tools];
    const names = tools.map(({ key }) => key);
    this.#choice.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
    if (tools.length === 0) this.#choice.append(element('option', { value: '' }, 'none yet'));
    this.#choice.disabled = tools.length === 0;
    this.#release();
    if (names.includes(chosen)) this.#choice.value = chosen;
    else this.#draw();
  }

  /** Fills in the form for a tool, and goes there. */
  choose(tool: Item): void {
    this.#choice.value = tool.key;
    this.#draw();
    this.#choice.focus();
  }

  #draw(): void {
    const tool = this.#tools.find(({ key }) => key === this.#choice.value);
    this.#about.textContent = tool?.description ?? '';
    const wanted = argumentsOf(tool?.raw['inputSchema']);
    const fields = wanted.map(({ name, schema, isRequired }) => {
      return [name, fieldFor(name, schema, isRequired, SUGGESTED.get(name)?.() ?? '')] as const;
    });
    this.#arguments = new Map(fields);
    this.#fields.replaceChildren(...fields.map(([, { label }]) => label));
  }

  async #call(): Promise<void> {
    const [endpoint, name] = [this.#endpoint, this.#choice.value];
    if (endpoint === undefined) return;
    this.#isCalling = true;
    this.#release();
    const began = now();
    const publication = this.#arrivals.begin(began);
    try {
      const result = await endpoint.callTool(name, this.#read());
      publication.settle(subjectsIn(result));
      const isError = result['isError'] === true;
      this.#outcome.tell(`${saidIn(result)} ${shortTime(now() - began)}`, isError ? 'bad' : 'good');
    } catch (error) {
      publication.settle([]);
      this.#outcome.tell(error instanceof Error ? error.message : String(error), 'bad');
    } finally {
      this.#isCalling = false;
      this.#release();
    }
    this.#renew();
  }

  /** The list may be read again while a call is under way. */
  #release(): void {
    this.#button.disabled = this.#isCalling || this.#tools.length === 0;
  }

  #read(): Record<string, unknown> {
    const entries = [...this.#arguments].map(([name, field]) => [name, field.read()] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }

  /** The same text again would change nothing, so one that was suggested becomes another one. */
  #renew(): void {
    const control = this.#arguments.get('text')?.label.querySelector('textarea');
    if (control?.value.startsWith(WRITTEN)) control.value = SUGGESTED.get('text')?.() ?? '';
  }
}

/**
 * The changes that the notebook names with its results; other servers do not, and nothing is
 * measured.
 */
function subjectsIn(result: Record<string, unknown>): Subject[] {
  const changes = records(record(result['structuredContent'])?.['changes']);
  return changes.map((change) => subjectOfEvent(change as Parameters<typeof subjectOfEvent>[0]));
}

function saidIn(result: Record<string, unknown>): string {
  return records(result['content'])
    .map((part) => text(part['text']) ?? `(${part['type']})`)
    .join(' ');
}

const WRITTEN = 'Written at ';
/** By the name of an argument, which is the server's choice. */
const SUGGESTED = new Map([
  ['name', () => 'todo'],
  ['text', () => `${WRITTEN}${timeOfDay(Date.now())}`],
]);
