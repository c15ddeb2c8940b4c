import { now } from '../clock.js';
import { byId, element, labelled, setBusy } from '../dom.js';
import { shortTime } from '../format.js';
import { type Endpoint, META } from '../mcp/endpoint.js';
import { record, recordIn, text } from '../mcp/json.js';
import { Outcome } from './outcome.js';

/** A form that sends any request. */
export class RequestForm {
  readonly #method = element('input', {
    type: 'text',
    list: 'methods',
    required: true,
    spellcheck: 'false',
    value: 'tools/list',
  });
  readonly #params = element('textarea', { rows: 6, spellcheck: 'false', class: 'code' });
  readonly #button = element('button', { type: 'submit', class: 'primary' }, 'Send');
  readonly #cancel = element('button', { type: 'button', hidden: true }, 'Cancel');
  readonly #outcome = new Outcome();
  #endpoint: Endpoint | undefined;
  #abort: AbortController | undefined;

  constructor() {
    const methods = METHODS.map((value) => element('option', { value }));
    const form = element(
      'form',
      { class: 'stack' },
      labelled('Method', this.#method),
      element('datalist', { id: 'methods' }, ...methods),
      labelled('Params as JSON', this.#params),
      element('p', { class: 'note' }, NOTE),
      element('div', { class: 'row' }, this.#button, this.#cancel),
      this.#outcome.output,
      this.#outcome.json,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
    this.#cancel.addEventListener('click', () => this.#abort?.abort());
    byId('act-request', HTMLElement).append(form);
    this.#params.value = '{}';
    this.offer(undefined);
  }

  /** Sends to this server. */
  offer(endpoint: Endpoint | undefined): void {
    this.#endpoint = endpoint;
    this.#update();
  }

  /** Fills the form with a message that was sent, without the metadata that the page adds. */
  edit(message: string): void {
    const { method, params } = recordIn(message) ?? {};
    const { _meta, ...others } = record(params) ?? {};
    const meta = Object.entries(record(_meta) ?? {}).filter(([key]) => !(key in META));
    const kept = meta.length === 0 ? {} : { _meta: Object.fromEntries(meta) };
    this.#method.value = text(method) ?? '';
    this.#params.value = JSON.stringify({ ...others, ...kept }, null, 2);
    this.#params.focus();
  }

  /** Sends the request in the form. */
  send(): void {
    if (!this.#button.disabled && this.#abort === undefined) void this.#send();
  }

  async #send(): Promise<void> {
    const began = now();
    const abort = new AbortController();
    this.#abort = abort;
    this.#outcome.show('Sent. Messages of the response appear in the timeline.', 'busy');
    this.#update();
    try {
      const params = recordIn(this.#params.value.trim() || '{}');
      if (params === undefined) throw new SyntaxError('Params must be a JSON object, such as {}.');
      const result = await this.#endpoint?.request(this.#method.value, params, abort.signal);
      this.#outcome.show(`Result after ${shortTime(now() - began)}`, 'good', result);
    } catch (error) {
      this.#outcome.fail(abort.signal.aborted ? 'Cancelled.' : error);
    } finally {
      this.#abort = undefined;
      this.#update();
    }
  }

  #update(): void {
    this.#button.disabled = this.#endpoint === undefined;
    setBusy(this.#button, this.#abort !== undefined);
    // The button that is about to be hidden may have the focus.
    if (document.activeElement === this.#cancel && this.#abort === undefined) this.#button.focus();
    this.#cancel.hidden = this.#abort === undefined;
  }
}

const NOTE = 'The page adds the id and, for servers of 2026-07-28, the metadata of the protocol.';
const METHODS = [
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'events/list',
  'events/poll',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'subscriptions/listen',
  'ping',
];
