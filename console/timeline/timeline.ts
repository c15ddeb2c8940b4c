import { byId, setText } from '../dom.js';
import { count, counted } from '../format.js';
import type { Frame } from '../mcp/frame.js';
import { repaint } from '../repaint.js';
import { save } from './export.js';
import { FrameDialog, type OnEdit } from './frame-dialog.js';
import { FrameFilter } from './frame-filter.js';
import { FrameList } from './frame-list.js';
import { History } from './history.js';

/**
 * The timeline: shows the frames that match the filter, until it is paused; each frame can be
 * opened, and all of them can be saved as JSON.
 */
export class Timeline {
  readonly #history = new History();
  readonly #count = byId('timeline-count', HTMLElement);
  readonly #empty = byId('frames-empty', HTMLElement);
  readonly #pause = byId('timeline-pause', HTMLButtonElement);
  readonly #export = byId('timeline-export', HTMLButtonElement);
  readonly #filter = new FrameFilter(() => this.#rebuild());
  readonly #list: FrameList;
  readonly #paint = repaint(() => this.#catchUp());
  #isPaused = false;
  #pending: Frame[] = [];
  /** Frames that the history dropped, and that the list may still show. */
  #dropped: Frame[] = [];
  #missed = 0;
  #shown = 0;

  constructor(onEdit: OnEdit) {
    const dialog = new FrameDialog(onEdit);
    this.#list = new FrameList((frame) => dialog.open(frame));
    this.#pause.addEventListener('click', () => this.#toggle());
    byId('timeline-clear', HTMLButtonElement).addEventListener('click', () => this.clear());
    this.#export.addEventListener('click', () =>
      save(this.#history.filtered(this.#filter.accepts)),
    );
    this.#rebuild();
  }

  /** Adds a frame, which is shown in the next animation frame. */
  add(frame: Frame): void {
    const dropped = this.#history.add(frame);
    if (this.#isPaused) this.#missed += 1;
    else {
      this.#pending.push(frame);
      for (const old of dropped) this.#dropped.push(old);
    }
    this.#paint();
  }

  /** Sets the sources that the filter offers. */
  sources(names: readonly string[]): void {
    if (this.#filter.sources(names)) this.#rebuild();
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
    [this.#pending, this.#dropped] = [[], []];
    this.#missed = 0;
    const frames = this.#history.filtered(this.#filter.accepts);
    this.#shown = frames.length;
    this.#list.show(frames);
    this.#updateCount();
  }

  #catchUp(): void {
    const frames = this.#pending.filter(this.#filter.accepts);
    const dropped = this.#dropped.filter(this.#filter.accepts).length;
    [this.#pending, this.#dropped] = [[], []];
    this.#shown += frames.length - dropped;
    if (frames.length + dropped > 0) this.#list.add(frames, dropped);
    this.#updateCount();
  }

  #updateCount(): void {
    const { seen } = this.#history;
    const frames = counted(seen, 'frame');
    const matching = this.#filter.isOpen ? frames : `${count(this.#shown)} of ${frames}`;
    setText(this.#count, this.#isPaused ? `paused, ${count(this.#missed)} new` : matching);
    this.#export.disabled = this.#shown === 0;
    this.#empty.hidden = this.#shown > 0;
    setText(this.#empty, seen === 0 || this.#filter.isOpen ? EMPTY_TEXT : NO_MATCH_TEXT);
  }
}

const EMPTY_TEXT =
  'JSON-RPC messages appear here as they were sent and received. Connect, or open a subscription.';
const NO_MATCH_TEXT = 'No frame matches the filter.';
