import { element, setText } from '../dom.js';
import { timeOfDay } from '../format.js';
import type { Frame } from '../mcp/frame.js';
import { highlighted } from './json-text.js';

/** Shows one frame as indented JSON and as the original text. */
export class FrameDialog {
  readonly #title = element('h2', { id: 'frame-title' });
  readonly #summary = element('p', { class: 'note' });
  readonly #json = element('pre', {
    class: 'json',
    tabindex: 0,
    role: 'region',
    'aria-label': 'The frame as JSON',
  });
  readonly #raw = element('pre', {
    class: 'raw',
    tabindex: 0,
    role: 'region',
    'aria-label': 'The frame as it was sent',
  });
  readonly #copy = element('button', { type: 'button' }, 'Copy');
  readonly #dialog = element('dialog', { 'aria-labelledby': 'frame-title', class: 'dialog' });
  #text = '';

  constructor() {
    const close = element('button', { type: 'button', class: 'primary' }, 'Close');
    close.addEventListener('click', () => this.#dialog.close());
    this.#copy.addEventListener('click', () => void this.#copyText());
    // A click on the backdrop has the dialog itself as its target.
    this.#dialog.addEventListener(
      'click',
      ({ target }) => target === this.#dialog && this.#dialog.close(),
    );
    const raw = element('details', {}, element('summary', {}, 'Raw text'), this.#raw);
    const foot = element('div', { class: 'foot row' }, this.#copy, close);
    this.#dialog.append(
      element(
        'div',
        { class: 'inner' },
        element('header', {}, this.#title, this.#summary),
        this.#json,
        raw,
        foot,
      ),
    );
    document.body.append(this.#dialog);
  }

  /** Shows a frame. */
  open(frame: Frame): void {
    const { at, direction, source, text, title } = frame;
    this.#text = text;
    setText(this.#title, title);
    const who = source === 'page' ? 'this page' : `subscription ${source}`;
    setText(
      this.#summary,
      `${direction === 'in' ? 'Received' : 'Sent'} by ${who} at ${timeOfDay(at)}`,
    );
    this.#json.replaceChildren(...highlighted(text));
    setText(this.#raw, text);
    setText(this.#copy, 'Copy');
    this.#dialog.showModal();
  }

  async #copyText(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#text);
      setText(this.#copy, 'Copied');
    } catch {
      setText(this.#copy, 'Copying failed');
    }
  }
}
