import { element } from '../dom.js';

/** What came of pressing a button. */
export class Outcome {
  readonly output = element('output', { class: 'outcome', hidden: true });

  /** Shows a sentence. */
  tell(sentence: string, tone: 'good' | 'bad' | 'busy'): void {
    this.output.hidden = false;
    this.output.dataset['tone'] = tone;
    this.output.textContent = sentence;
  }
}
