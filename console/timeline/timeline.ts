import { byId, setText } from '../dom.js';
import { count } from '../format.js';
import type { Frame } from '../mcp/frame.js';
import { repaint } from '../repaint.js';
import { FrameDialog } from './frame-dialog.js';
import { FrameFilter } from './frame-filter.js';
import { FrameList, MAX_ROWS } from './frame-list.js';
import { History } from './history.js';

/**
 * The timeline: shows the frames that match the filter, until it is paused; each frame can be
 * opened.
 */
export class Timeline {
  readonly #history = new History();
  readonly #count = byId('timeline-count', HTMLElement);
  readonly #empty = byId('frames-empty', HTMLElement);
  readonly #pause = byId('timeline-pause', HTMLButtonElement);
  readonly #filter = new FrameFilter(() => this.#rebuild());
  readonly #dialog = new FrameDialog();
  readonly #list = new FrameList((frame) => this.#dialog.open(frame));
  readonly #paint = repaint(() => this.#catchUp());
  #isPaused = false;
  #pending: Frame[] = [];
  #missed = 0;
  #shown = 0;

  constructor() {
    this.#pause.addEventListener('click', () => this.#toggle());
    byId('timeline-clear', HTMLButtonElement).addEventListener('click', () => this.clear());
    this.#rebuild();
  }

  /** Adds a frame, which is shown in the next animation frame. */
  add(frame: Frame): void {
    this.#history.add(frame);
    if (this.#isPaused) this.#missed += 1;
    // A page in the background is not painted; it reads the history when it is visible again.
    else if (this.#pending.length < MAX_PENDING) this.#pending.push(frame);
    this.#paint();
  }

  /** Sets the sources that the filter offers. */
  sources(names: readonly string[]): void {
    this.#filter.sources(names);
    this.#rebuild();
  }

  /** Drops all frames. */
  clear(): void {
    this.#history.clear();
    this.#rebuild();
  }

  #toggle(): void {
    this.#isPaused = !this.#isPaused;
    this.#pause.setAttribute('aria-pressed', String(this.#isPaused));
    setText(this.#pause, this.#isPaused ? 'Resume' : 'Pause');
    if (this.#isPaused) this.#updateCount();
    else this.#rebuild();
  }

  #rebuild(): void {
    this.#pending = [];
    this.#missed = 0;
    const frames = this.#history.latest(MAX_ROWS, this.#filter.accepts);
    this.#list.show(frames);
    this.#shown = frames.length;
    this.#updateCount();
  }

  #catchUp(): void {
    if (this.#pending.length === MAX_PENDING) {
      this.#rebuild();
      return;
    }
    const frames = this.#pending.filter(this.#filter.accepts).reverse();
    this.#pending = [];
    if (frames.length > 0) this.#list.prepend(frames);
    this.#shown += frames.length;
    this.#updateCount();
  }

  #updateCount(): void {
    const { seen } = this.#history;
    const frames = seen === 1 ? '1 frame' : `${count(seen)} frames`;
    setText(this.#count, this.#isPaused ? `paused, ${count(this.#missed)} new` : frames);
    this.#empty.hidden = this.#shown > 0;
    setText(this.#empty, seen === 0 || this.#filter.isOpen ? EMPTY_TEXT : NO_MATCH_TEXT);
  }
}

const MAX_PENDING = 1_000;
const EMPTY_TEXT =
  'JSON-RPC messages appear here as they were sent and received. Connect, or open a subscription.';
const NO_MATCH_TEXT = 'No frame matches the filter.';
