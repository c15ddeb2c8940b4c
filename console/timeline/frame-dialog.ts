import { element, write } from '../dom.js';
import type { Frame } from '../mcp/frame.js';
import { timeOfDay } from '../moment.js';
import { coloured } from './json-text.js';

/** Shows one frame as JSON, laid out and as it stood on the wire. */
export class FrameDialog {
  readonly #title = element('h2', { id: 'frame-title' });
  readonly #about = element('p', { class: 'note' });
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
    this.#copy.addEventListener('click', () => void this.#copied());
    // A click beside the dialog falls on the dialog itself.
    this.#dialog.addEventListener(
      'click',
      ({ target }) => target === this.#dialog && this.#dialog.close(),
    );
    const raw = element(
      'details',
      {},
      element('summary', {}, 'As it stood on the wire'),
      this.#raw,
    );
    const foot = element('div', { class: 'foot row' }, this.#copy, close);
    this.#dialog.append(
      element(
        'div',
        { class: 'inner' },
        element('header', {}, this.#title, this.#about),
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
    write(this.#title, title);
    const who = source === 'page' ? 'this page' : `subscription ${source}`;
    write(this.#about, `${direction === 'in' ? 'Received' : 'Sent'} by ${who} at ${timeOfDay(at)}`);
    this.#json.replaceChildren(...coloured(text));
    write(this.#raw, text);
    write(this.#copy, 'Copy');
    this.#dialog.showModal();
  }

  async #copied(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#text);
      write(this.#copy, 'Copied');
    } catch {
      write(this.#copy, 'The browser refused');
    }
  }
}
