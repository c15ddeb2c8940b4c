import { found, write } from '../dom.js';
import type { Frame } from '../mcp/frame.js';
import { count } from '../moment.js';
import { repaint } from '../repaint.js';
import { FrameDialog } from './frame-dialog.js';
import { FrameFilter } from './frame-filter.js';
import { FrameList, MAX_ROWS } from './frame-list.js';
import { History } from './history.js';

/**
 * The timeline: every frame as it comes, until it is paused; those that pass the filter; each can
 * be opened.
 */
export class Timeline {
  readonly #history = new History();
  readonly #count = found('timeline-count', HTMLElement);
  readonly #empty = found('frames-empty', HTMLElement);
  readonly #pause = found('timeline-pause', HTMLButtonElement);
  readonly #filter = new FrameFilter(() => this.#rebuild());
  readonly #dialog = new FrameDialog();
  readonly #list = new FrameList((frame) => this.#dialog.open(frame));
  readonly #paint = repaint(() => this.#catchUp());
  #isPaused = false;
  #waiting: Frame[] = [];
  #missed = 0;
  #shown = 0;

  constructor() {
    this.#pause.addEventListener('click', () => this.#toggle());
    found('timeline-clear', HTMLButtonElement).addEventListener('click', () => this.clear());
    this.#rebuild();
  }

  /** Takes a frame; it is shown before the browser next draws. */
  add(frame: Frame): void {
    this.#history.add(frame);
    if (this.#isPaused) this.#missed += 1;
    // A page in the background is not painted, and reads the history when it is.
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(frame);
    this.#paint();
  }

  /** Whose frames may be filtered for. */
  sources(names: readonly string[]): void {
    this.#filter.sources(names);
    this.#rebuild();
  }

  /** Forgets all frames. */
  clear(): void {
    this.#history.clear();
    this.#rebuild();
  }

  #toggle(): void {
    this.#isPaused = !this.#isPaused;
    this.#pause.setAttribute('aria-pressed', String(this.#isPaused));
    write(this.#pause, this.#isPaused ? 'Go on' : 'Pause');
    if (this.#isPaused) this.#tell();
    else this.#rebuild();
  }

  #rebuild(): void {
    this.#waiting = [];
    this.#missed = 0;
    const frames = this.#history.latest(MAX_ROWS, this.#filter.accepts);
    this.#list.show(frames);
    this.#shown = frames.length;
    this.#tell();
  }

  #catchUp(): void {
    if (this.#waiting.length === MAX_WAITING) {
      this.#rebuild();
      return;
    }
    const frames = this.#waiting.filter(this.#filter.accepts).reverse();
    this.#waiting = [];
    if (frames.length > 0) this.#list.prepend(frames);
    this.#shown += frames.length;
    this.#tell();
  }

  #tell(): void {
    const { seen } = this.#history;
    const frames = seen === 1 ? '1 frame' : `${count(seen)} frames`;
    write(this.#count, this.#isPaused ? `paused, ${count(this.#missed)} more since` : frames);
    this.#empty.hidden = this.#shown > 0;
    write(this.#empty, seen === 0 || this.#filter.isOpen ? NOTHING_YET : NOTHING_FOUND);
  }
}

const MAX_WAITING = 1_000;
const NOTHING_YET =
  'Every JSON-RPC message will appear here as it stood on the wire. Connect, or open a subscription.';
const NOTHING_FOUND = 'No frame passes this filter.';
