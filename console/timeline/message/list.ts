import { byId } from '../../dom.js';
import type { Message } from '../../mcp/message.js';
import { repaint } from '../../repaint.js';
import { messageRow } from './row.js';

/**
 * The rows of the timeline, newest first. The page contains only the rows near the visible part,
 * so that 50,000 messages cost as little as fifty. One row is in the tab order, and arrow keys move
 * between them.
 */
export class MessageList {
  readonly #box = byId('messages-box', HTMLElement);
  readonly #list = byId('messages', HTMLOListElement);
  readonly #rows = new Map<Message, HTMLLIElement>();
  readonly #open: (message: Message) => void;
  /** Oldest first. */
  #messages: Message[] = [];
  /** The row in the tab order; undefined: the newest one. */
  #current: Message | undefined;

  /** @param open - called with the message of a selected row. */
  constructor(open: (message: Message) => void) {
    this.#open = open;
    const paint = repaint(() => this.#paint());
    this.#box.addEventListener('scroll', paint, { passive: true });
    new ResizeObserver(paint).observe(this.#box);
    this.#list.addEventListener('click', ({ target }) => this.#choose(target));
    this.#list.addEventListener('keydown', (event) => this.#move(event));
    this.#list.addEventListener('focusin', ({ target }) => {
      this.#current = this.#messageOf(target) ?? this.#current;
    });
  }

  /** Shows these messages, oldest first in the array, and scrolls to the newest one. */
  show(messages: Message[]): void {
    this.#messages = messages;
    this.#current = undefined;
    this.#box.scrollTop = 0;
    this.#paint();
  }

  /**
   * Adds these messages, oldest first, and drops the oldest ones. Rows stay where they are if the
   * user has scrolled.
   *
   * @param dropped - how many of the oldest messages to drop.
   */
  add(messages: readonly Message[], dropped: number): void {
    const { scrollTop } = this.#box;
    for (const message of messages) this.#messages.push(message);
    if (dropped > 0) this.#messages.splice(0, dropped);
    this.#resize();
    if (scrollTop > 0) this.#box.scrollTop = scrollTop + messages.length * ROW_HEIGHT;
    this.#paint();
  }

  /** Focuses the current row, and scrolls to it. */
  focus(): void {
    const message = this.#at(this.#place());
    if (message !== undefined) this.#focus(message);
  }

  /** Inserts the rows near the visible part, and removes the other ones. */
  #paint(): void {
    this.#resize();
    const places = this.#places();
    const wanted = new Map(places.map((place) => [this.#at(place), place]));
    for (const [message, row] of this.#rows) if (!wanted.has(message)) this.#drop(message, row);
    let next = this.#list.firstElementChild;
    for (const [message, place] of wanted) {
      const row = message && this.#row(message);
      if (row === undefined) continue;
      row.style.transform = `translateY(${place * ROW_HEIGHT}px)`;
      row.ariaSetSize = String(this.#messages.length);
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
    const last = Math.min(this.#messages.length, end);
    const places = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
    const focused = this.#list.contains(document.activeElement) ? this.#place() : -1;
    if (focused < 0 || places.includes(focused)) return places;
    return focused < first ? [focused, ...places] : [...places, focused];
  }

  #row(message: Message): HTMLLIElement {
    const row = this.#rows.get(message) ?? messageRow(message);
    this.#rows.set(message, row);
    return row;
  }

  #drop(message: Message, row: HTMLLIElement): void {
    this.#rows.delete(message);
    row.remove();
  }

  #resize(): void {
    this.#list.style.height = `${this.#messages.length * ROW_HEIGHT}px`;
  }

  #choose(target: EventTarget | null): void {
    const message = this.#messageOf(target);
    if (message !== undefined) this.#open(message);
  }

  #move(event: KeyboardEvent): void {
    const message = this.#at(this.#target(event.key));
    if (message === undefined) return;
    event.preventDefault();
    this.#focus(message);
  }

  #focus(message: Message): void {
    this.#current = message;
    this.#reveal(this.#place());
    this.#paint();
    this.#rows.get(message)?.querySelector('button')?.focus({ preventScroll: true });
    this.#paint();
  }

  /** Returns the place that a key moves to; NaN if it does not move. */
  #target(key: string): number {
    const place = this.#place();
    const page = Math.floor(this.#box.clientHeight / ROW_HEIGHT);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (key === 'Home') return 0;
    if (key === 'End') return this.#messages.length - 1;
    const step = steps[key as keyof typeof steps] ?? Number.NaN;
    return Math.min(this.#messages.length - 1, Math.max(0, place + step));
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

  #messageOf(target: EventTarget | null): Message | undefined {
    const row = target instanceof Element ? target.closest('li') : null;
    return [...this.#rows].find(([, other]) => other === row)?.[0];
  }

  /** Returns the place of the current row, counted from the newest; -1: it is gone. */
  #place(): number {
    if (this.#current === undefined) return 0;
    const index = this.#messages.lastIndexOf(this.#current);
    return index < 0 ? -1 : this.#messages.length - 1 - index;
  }

  #at(place: number): Message | undefined {
    return this.#messages[this.#messages.length - 1 - place];
  }
}

/** The height of a row in pixels, as in timeline.css. */
const ROW_HEIGHT = 28;
/** Rows above and below the visible part that are in the page too. */
const SPARE_ROWS = 12;
