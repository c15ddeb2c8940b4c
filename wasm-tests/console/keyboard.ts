import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * Uses a page by its keys alone. After each key the focus has to be on an element that is in view,
 * on top, and outlined.
 */
export class Keyboard {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /**
   * Presses a key once for each of these stops, and expects the focus to be on each of them.
   *
   * @param stops - the role and the beginning of the accessible name, as in `button "Connect"`.
   */
  async follow(key: string, stops: readonly string[]): Promise<void> {
    const seen: string[] = [];
    for (const stop of stops) {
      const focused = await this.press(key);
      seen.push(focused.startsWith(stop) ? stop : focused);
    }
    expect(seen).toEqual(stops);
  }

  /** Presses a key; resolves with the role and the name of the element that has the focus then. */
  async press(key: string): Promise<string> {
    await this.#page.keyboard.press(key);
    return this.focused();
  }

  /** Types a text in the element that has the focus. */
  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text);
    await this.focused();
  }

  /** Resolves with the role and the name of the element that has the focus. */
  async focused(): Promise<string> {
    expect(await this.#page.evaluate(focusProblem)).toBe('');
    let stop = '';
    const describe = async () => {
      const snapshot = await this.#page.locator(':focus').ariaSnapshot();
      stop = snapshot.match(/^- '?(.*)/)?.[1] ?? '';
      return stop;
    };
    // A list that is read again replaces the element, which then has no description, by another.
    await expect.poll(describe).not.toBe('');
    return stop;
  }
}

/** Runs in the page: returns why a user would not see the focus; an empty string if they do. */
function focusProblem(): string {
  const focused = document.activeElement;
  if (focused === null || focused === document.body) return 'the focus is lost';
  const which = focused.outerHTML.slice(0, 120);
  // The outline of a radio button is that of the text beside it.
  const isOutlined = [focused, focused.nextElementSibling].some((element) => {
    if (element === null) return false;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
  });
  if (!isOutlined) return `there is no outline around ${which}`;
  const { bottom, left, right, top } = focused.getBoundingClientRect();
  const x = (Math.max(0, left) + Math.min(innerWidth, right)) / 2;
  const y = (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2;
  const onTop = document.elementFromPoint(x, y);
  const isOnTop = focused.contains(onTop) || onTop?.closest('label')?.contains(focused);
  return isOnTop === true ? '' : `${which} is not in view`;
}
