import { byId, setText } from '../dom.js';
import { count, counted } from '../format.js';
import type { Message } from '../mcp/message.js';
import { repaint } from '../repaint.js';
import { save } from './export.js';
import { MAX_MESSAGES, MessageHistory } from './history.js';
import { MessageDialog, type Sender } from './message/dialog.js';
import { MessageFilter } from './message/filter.js';
import { MessageList } from './message/list.js';

/**
 * The timeline: shows the messages that match the filter, until it is paused; each message can be
 * opened, and all of them can be saved as JSON.
 */
export class Timeline {
  readonly #history = new MessageHistory();
  readonly #count = byId('timeline-count', HTMLElement);
  readonly #empty = byId('messages-empty', HTMLElement);
  readonly #pause = byId('timeline-pause', HTMLButtonElement);
  readonly #export = byId('timeline-export', HTMLButtonElement);
  readonly #filter = new MessageFilter(() => this.#rebuild());
  readonly #list: MessageList;
  readonly #paint = repaint(() => (this.#isBehind ? this.#rebuild() : this.#catchUp()));
  /** How many messages had been seen when the timeline was paused; undefined while it is not. */
  #pausedAt: number | undefined;
  #pending: Message[] = [];
  /** Messages that the history dropped, and that the list may still show. */
  #dropped: Message[] = [];
  /** Whether the next frame shows the whole history: too many messages have come since the last. */
  #isBehind = false;
  #shown = 0;

  constructor(sender: Sender) {
    const dialog = new MessageDialog(sender, () => this.#list.focus());
    this.#list = new MessageList((message) => dialog.open(message));
    this.#pause.addEventListener('click', () => this.#toggle());
    byId('timeline-clear', HTMLButtonElement).addEventListener('click', () => this.clear());
    this.#export.addEventListener('click', () =>
      save(this.#history.filtered(this.#filter.accepts, this.#pausedAt)),
    );
    this.#rebuild();
  }

  /** Adds a message, which is shown in the next animation frame. */
  add(message: Message): void {
    const dropped = this.#history.add(message);
    if (this.#pausedAt === undefined && !this.#isBehind) {
      this.#pending.push(message);
      for (const old of dropped) this.#dropped.push(old);
      // A page in the background gets no frame.
      this.#isBehind = this.#pending.length > MAX_MESSAGES;
      if (this.#isBehind) [this.#pending, this.#dropped] = [[], []];
    }
    this.#paint();
  }

  /** Sets the sources that the filter offers. */
  sources(names: readonly string[]): void {
    if (this.#filter.sources(names)) this.#rebuild();
  }

  /** Drops all messages. */
  clear(): void {
    this.#history.clear();
    if (this.#pausedAt !== undefined) this.#pausedAt = 0;
    this.#rebuild();
  }

  #toggle(): void {
    this.#pausedAt = this.#pausedAt === undefined ? this.#history.seen : undefined;
    const isPaused = this.#pausedAt !== undefined;
    this.#pause.setAttribute('aria-pressed', String(isPaused));
    setText(this.#pause, isPaused ? 'Resume' : 'Pause');
    if (isPaused) this.#updateCount();
    else this.#rebuild();
  }

  /** Shows the messages that match the filter, until the pause. */
  #rebuild(): void {
    [this.#pending, this.#dropped] = [[], []];
    this.#isBehind = false;
    const messages = this.#history.filtered(this.#filter.accepts, this.#pausedAt);
    this.#shown = messages.length;
    this.#list.show(messages);
    this.#updateCount();
  }

  #catchUp(): void {
    const messages = this.#pending.filter(this.#filter.accepts);
    const dropped = this.#dropped.filter(this.#filter.accepts).length;
    [this.#pending, this.#dropped] = [[], []];
    this.#shown += messages.length - dropped;
    if (messages.length + dropped > 0) this.#list.add(messages, dropped);
    this.#updateCount();
  }

  #updateCount(): void {
    const { seen } = this.#history;
    const messages = counted(seen, 'message');
    const matching = this.#filter.isOpen ? messages : `${count(this.#shown)} of ${messages}`;
    const paused = `paused, ${count(seen - (this.#pausedAt ?? 0))} new`;
    setText(this.#count, this.#pausedAt === undefined ? matching : paused);
    this.#export.disabled = this.#shown === 0;
    this.#empty.hidden = this.#shown > 0;
    setText(this.#empty, seen === 0 || this.#filter.isOpen ? EMPTY_TEXT : NO_MATCH_TEXT);
  }
}

const EMPTY_TEXT =
  'JSON-RPC messages appear here as they were sent and received. Connect, or open a subscription.';
const NO_MATCH_TEXT = 'No message matches the filter. Change it, or clear it.';
