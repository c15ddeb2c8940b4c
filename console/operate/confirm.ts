import { element, setText } from '../dom.js';

/** Asks the user before something is done that cannot be undone. */
export class Confirm {
  readonly #title = element('h2', { id: 'confirm-title' });
  readonly #text = element('p', { id: 'confirm-text' });
  readonly #yes = element('button', { type: 'button', class: 'primary' });
  readonly #dialog = element('dialog', {
    class: 'dialog confirm',
    'aria-labelledby': 'confirm-title',
    'aria-describedby': 'confirm-text',
  });
  #isConfirmed = false;

  constructor() {
    const no = element('button', { type: 'button' }, 'Cancel');
    no.addEventListener('click', () => this.#dialog.close());
    this.#yes.addEventListener('click', () => {
      this.#isConfirmed = true;
      this.#dialog.close();
    });
    const foot = element('div', { class: 'row' }, no, this.#yes);
    this.#dialog.append(element('div', { class: 'inner' }, this.#title, this.#text, foot));
    document.body.append(this.#dialog);
  }

  /** Resolves with whether the user confirmed. `yes` is the text of the button that does. */
  ask(title: string, text: string, yes: string): Promise<boolean> {
    setText(this.#title, title);
    setText(this.#text, text);
    setText(this.#yes, yes);
    this.#isConfirmed = false;
    this.#dialog.showModal();
    return new Promise((resolve) => {
      this.#dialog.addEventListener('close', () => resolve(this.#isConfirmed), { once: true });
    });
  }
}
