import { element, setText } from '../dom.js';
import { highlighted } from '../json-text.js';

/** The result of an action of a form: one line, and the whole result as JSON. */
export class Outcome {
  readonly output = element('output', { class: 'outcome', hidden: true });
  readonly json: HTMLDetailsElement;
  readonly #summary = element('summary', {}, 'Result as JSON');
  readonly #pre = element('pre', {
    class: 'json result',
    tabindex: 0,
    role: 'region',
    'aria-label': 'The result as JSON',
  });

  constructor() {
    this.json = element(
      'details',
      { class: 'result-json', hidden: true },
      this.#summary,
      this.#pre,
    );
  }

  /** Shows a text and, if there is one, a result. */
  show(text: string, tone: 'good' | 'bad' | 'busy', result?: unknown): void {
    this.output.hidden = false;
    this.output.dataset['tone'] = tone;
    setText(this.output, text);
    if (tone === 'busy') return;
    this.json.hidden = result === undefined;
    if (result !== undefined) this.#pre.replaceChildren(...highlighted(JSON.stringify(result)));
  }

  /** Shows an error. */
  fail(error: unknown): void {
    this.show(error instanceof Error ? error.message : String(error), 'bad');
  }
}
