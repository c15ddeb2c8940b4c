import { element, setText } from '../../dom.js';
import { timeOfDay } from '../../format.js';
import { highlighted } from '../../json-text.js';
import type { Message } from '../../mcp/message.js';
import { curlOf } from '../curl.js';

/** Sends requests again. */
export interface Sender {
  /** Returns whether a message was sent to the server that is connected. */
  canSend: (message: Message) => boolean;
  /** Called with a request to send again: now as it was, or after the user has edited it. */
  onSend: (message: Message, isSentNow: boolean) => void;
}

/** Shows one message as indented JSON and as the original text. */
export class MessageDialog {
  readonly #title = element('h2', { id: 'message-title' });
  readonly #summary = element('p', { class: 'note' });
  readonly #json = element('pre', {
    class: 'json',
    tabindex: 0,
    role: 'region',
    'aria-label': 'The message as JSON',
  });
  readonly #raw = element('pre', {
    class: 'raw',
    tabindex: 0,
    role: 'region',
    'aria-label': 'The message as it was sent',
  });
  readonly #copy = element('button', { type: 'button' }, 'Copy');
  readonly #curl = element('button', { type: 'button' }, 'Copy as curl');
  readonly #again = element('button', { type: 'button' }, 'Send again');
  readonly #edit = element('button', { type: 'button' }, 'Edit and send again');
  readonly #dialog = element('dialog', { 'aria-labelledby': 'message-title', class: 'dialog' });
  readonly #sender: Sender;
  #message: Message | undefined;

  /** @param onLost - called when the dialog was closed, and what had the focus before is gone. */
  constructor(sender: Sender, onLost: () => void) {
    this.#sender = sender;
    const close = element('button', { type: 'button', class: 'primary' }, 'Close');
    close.addEventListener('click', () => this.#dialog.close());
    this.#copy.addEventListener('click', () => void this.#write(this.#copy, this.#message?.text));
    this.#curl.addEventListener(
      'click',
      () => void this.#write(this.#curl, this.#message && curlOf(this.#message)),
    );
    for (const button of [this.#again, this.#edit])
      button.addEventListener('click', () => {
        this.#dialog.close();
        if (this.#message !== undefined) sender.onSend(this.#message, button === this.#again);
      });
    // A click on the backdrop has the dialog itself as its target.
    this.#dialog.addEventListener(
      'click',
      ({ target }) => target === this.#dialog && this.#dialog.close(),
    );
    this.#dialog.addEventListener('close', () => {
      const { activeElement, body } = document;
      // What has the focus in a closed dialog keeps it until the next frame.
      if (activeElement === body || this.#dialog.contains(activeElement)) onLost();
    });
    const raw = element('details', {}, element('summary', {}, 'Raw text'), this.#raw);
    const buttons = [this.#again, this.#edit, this.#curl, this.#copy, close];
    const foot = element('div', { class: 'foot row' }, ...buttons);
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

  /** Shows a message. */
  open(message: Message): void {
    const { at, direction, source, text, title } = message;
    this.#message = message;
    setText(this.#title, title);
    const who = source === 'page' ? 'this page' : `subscription ${source}`;
    setText(
      this.#summary,
      `${direction === 'in' ? 'Received' : 'Sent'} by ${who} at ${timeOfDay(at)}`,
    );
    this.#json.replaceChildren(...highlighted(text));
    setText(this.#raw, text);
    setText(this.#copy, 'Copy');
    setText(this.#curl, 'Copy as curl');
    this.#curl.hidden = curlOf(message) === undefined;
    const isRequest = direction === 'out' && message.kind === 'request';
    this.#again.hidden = this.#edit.hidden = !isRequest || !this.#sender.canSend(message);
    this.#dialog.showModal();
  }

  async #write(button: HTMLButtonElement, text = ''): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setText(button, 'Copied');
    } catch {
      setText(button, 'Copying failed');
    }
  }
}
