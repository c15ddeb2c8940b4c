import { byId } from '../dom.js';
import type { Frame } from '../mcp/frame.js';
import { frameRow } from './frame-row.js';

/**
 * The rows of the timeline, newest first. One of them is in the tab order, and arrow keys move
 * between them.
 */
export class FrameList {
  readonly #list = byId('frames', HTMLOListElement);
  readonly #frames = new WeakMap<Element, Frame>();
  readonly #open: (frame: Frame) => void;

  /** @param open - called with the frame of a selected row. */
  constructor(open: (frame: Frame) => void) {
    this.#open = open;
    this.#list.addEventListener('click', ({ target }) => this.#choose(target));
    this.#list.addEventListener('keydown', (event) => this.#move(event));
  }

  /** Shows these frames, newest first. */
  show(frames: readonly Frame[]): void {
    this.#list.replaceChildren(...frames.map((frame) => this.#row(frame)));
    this.#list.scrollTop = 0;
    this.#tab();
  }

  /** Adds these frames, newest first, at the top; removes the oldest rows beyond the maximum. */
  prepend(frames: readonly Frame[]): void {
    this.#list.prepend(...frames.slice(0, MAX_ROWS).map((frame) => this.#row(frame)));
    while (this.#list.childElementCount > MAX_ROWS) {
      const last = this.#list.lastElementChild;
      // A row that has the focus stays.
      if (last === null || last.contains(document.activeElement)) break;
      last.remove();
    }
    this.#tab();
  }

  #row(frame: Frame): HTMLLIElement {
    const row = frameRow(frame);
    this.#frames.set(row, frame);
    return row;
  }

  #choose(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest('li') : null;
    const frame = row === null ? undefined : this.#frames.get(row);
    if (frame !== undefined) this.#open(frame);
  }

  #move(event: KeyboardEvent): void {
    const row = document.activeElement?.closest('li');
    const next = row && this.#neighbour(row, event.key);
    if (!next || next.parentElement !== this.#list) return;
    event.preventDefault();
    next.querySelector('button')?.focus();
    this.#tab();
  }

  #neighbour(row: Element, key: string): Element | null | undefined {
    switch (key) {
      case 'ArrowDown':
        return row.nextElementSibling;
      case 'ArrowUp':
        return row.previousElementSibling;
      case 'Home':
        return this.#list.firstElementChild;
      case 'End':
        return this.#list.lastElementChild;
      default:
        return undefined;
    }
  }

  #tab(): void {
    const focused = document.activeElement;
    const current =
      focused !== null && this.#list.contains(focused)
        ? focused
        : this.#list.querySelector('button');
    for (const button of this.#list.querySelectorAll('button[tabindex="0"]'))
      button.setAttribute('tabindex', '-1');
    current?.setAttribute('tabindex', '0');
  }
}

/** Maximum number of rows in the page; older frames are found with the filter. */
export const MAX_ROWS = 200;
