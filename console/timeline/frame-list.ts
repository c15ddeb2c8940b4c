import { byId } from '../dom.js';
import type { Frame } from '../mcp/frame.js';
import { repaint } from '../repaint.js';
import { frameRow } from './frame-row.js';

/**
 * The rows of the timeline, newest first. The page contains only the rows near the visible part,
 * so that 50,000 frames cost as little as fifty. One row is in the tab order, and arrow keys move
 * between them.
 */
export class FrameList {
  readonly #box = byId('frames-box', HTMLElement);
  readonly #list = byId('frames', HTMLOListElement);
  readonly #rows = new Map<Frame, HTMLLIElement>();
  readonly #open: (frame: Frame) => void;
  /** Oldest first. */
  #frames: Frame[] = [];
  /** The row in the tab order; undefined: the newest one. */
  #current: Frame | undefined;

  /** @param open - called with the frame of a selected row. */
  constructor(open: (frame: Frame) => void) {
    this.#open = open;
    const paint = repaint(() => this.#paint());
    this.#box.addEventListener('scroll', paint, { passive: true });
    new ResizeObserver(paint).observe(this.#box);
    this.#list.addEventListener('click', ({ target }) => this.#choose(target));
    this.#list.addEventListener('keydown', (event) => this.#move(event));
    this.#list.addEventListener('focusin', ({ target }) => {
      this.#current = this.#frameOf(target) ?? this.#current;
    });
  }

  /** Shows these frames, oldest first in the array, and scrolls to the newest one. */
  show(frames: Frame[]): void {
    this.#frames = frames;
    this.#current = undefined;
    this.#box.scrollTop = 0;
    this.#paint();
  }

  /**
   * Adds these frames, oldest first, and drops the oldest ones. Rows stay where they are if the
   * user has scrolled.
   *
   * @param dropped - how many of the oldest frames to drop.
   */
  add(frames: readonly Frame[], dropped: number): void {
    const { scrollTop } = this.#box;
    for (const frame of frames) this.#frames.push(frame);
    if (dropped > 0) this.#frames.splice(0, dropped);
    this.#resize();
    if (scrollTop > 0) this.#box.scrollTop = scrollTop + frames.length * ROW_HEIGHT;
    this.#paint();
  }

  /** Inserts the rows near the visible part, and removes the other ones. */
  #paint(): void {
    this.#resize();
    const places = this.#places();
    const wanted = new Map(places.map((place) => [this.#at(place), place]));
    for (const [frame, row] of this.#rows) if (!wanted.has(frame)) this.#drop(frame, row);
    let next = this.#list.firstElementChild;
    for (const [frame, place] of wanted) {
      const row = frame && this.#row(frame);
      if (row === undefined) continue;
      row.style.transform = `translateY(${place * ROW_HEIGHT}px)`;
      row.ariaSetSize = String(this.#frames.length);
      row.ariaPosInSet = String(place + 1);
      // A row that moves in the document would lose its focus.
      if (row === next) next = next.nextElementSibling;
      else this.#list.insertBefore(row, next);
    }
    this.#tab();
  }

  /** Returns the places of the rows to show, counted from the newest; a row with focus stays. */
  #places(): number[] {
    const { clientHeight, scrollTop } = this.#box;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const end = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + SPARE_ROWS;
    const last = Math.min(this.#frames.length, end);
    const places = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
    const focused = this.#list.contains(document.activeElement) ? this.#place() : -1;
    if (focused < 0 || places.includes(focused)) return places;
    return focused < first ? [focused, ...places] : [...places, focused];
  }

  #row(frame: Frame): HTMLLIElement {
    const row = this.#rows.get(frame) ?? frameRow(frame);
    this.#rows.set(frame, row);
    return row;
  }

  #drop(frame: Frame, row: HTMLLIElement): void {
    this.#rows.delete(frame);
    row.remove();
  }

  #resize(): void {
    this.#list.style.height = `${this.#frames.length * ROW_HEIGHT}px`;
  }

  #choose(target: EventTarget | null): void {
    const frame = this.#frameOf(target);
    if (frame !== undefined) this.#open(frame);
  }

  #move(event: KeyboardEvent): void {
    const frame = this.#at(this.#target(event.key));
    if (frame === undefined) return;
    event.preventDefault();
    this.#current = frame;
    this.#reveal(this.#place());
    this.#paint();
    this.#rows.get(frame)?.querySelector('button')?.focus({ preventScroll: true });
    this.#paint();
  }

  /** Returns the place that a key moves to; NaN if it does not move. */
  #target(key: string): number {
    const place = this.#place();
    const page = Math.floor(this.#box.clientHeight / ROW_HEIGHT);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (key === 'Home') return 0;
    if (key === 'End') return this.#frames.length - 1;
    const step = steps[key as keyof typeof steps] ?? Number.NaN;
    return Math.min(this.#frames.length - 1, Math.max(0, place + step));
  }

  #reveal(place: number): void {
    const top = place * ROW_HEIGHT;
    const { clientHeight, scrollTop } = this.#box;
    if (top < scrollTop) this.#box.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + clientHeight)
      this.#box.scrollTop = top + ROW_HEIGHT - clientHeight;
  }

  /** Puts one row in the tab order: the current one, or the newest if it is not in the page. */
  #tab(): void {
    const current = this.#current && this.#rows.get(this.#current);
    const stop = current ?? this.#list.firstElementChild;
    for (const row of this.#rows.values()) {
      const button = row.firstElementChild as HTMLButtonElement;
      button.tabIndex = row === stop ? 0 : -1;
    }
  }

  #frameOf(target: EventTarget | null): Frame | undefined {
    const row = target instanceof Element ? target.closest('li') : null;
    return [...this.#rows].find(([, other]) => other === row)?.[0];
  }

  /** Returns the place of the current row, counted from the newest; -1: it is gone. */
  #place(): number {
    if (this.#current === undefined) return 0;
    const index = this.#frames.lastIndexOf(this.#current);
    return index < 0 ? -1 : this.#frames.length - 1 - index;
  }

  #at(place: number): Frame | undefined {
    return this.#frames[this.#frames.length - 1 - place];
  }
}

/** The height of a row in pixels, as in timeline.css. */
const ROW_HEIGHT = 28;
/** Rows above and below the visible part that are in the page too. */
const SPARE_ROWS = 12;
