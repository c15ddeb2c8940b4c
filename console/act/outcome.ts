import { element } from '../dom.js';

/** The result of an action of a form. */
export class Outcome {
  readonly output = element('output', { class: 'outcome', hidden: true });

  /** Shows a text. */
  show(text: string, tone: 'good' | 'bad' | 'busy'): void {
    this.output.hidden = false;
    this.output.dataset['tone'] = tone;
    this.output.textContent = text;
  }
}
