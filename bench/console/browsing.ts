import type { Page } from 'playwright-core';
import { openTimeline, rowsOf, shownIn } from '../../wasm-tests/console/timeline/page.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { OpenBrowser } from './browser.ts';
import { insert, observeFrames, scroll, type } from './frames.ts';

/** Scrolls the timeline of the console, filters it, and adds messages to it. */
export class Browsing implements Contender {
  readonly #browser: OpenBrowser;
  readonly #messages: number;

  private constructor(browser: OpenBrowser, messages: number) {
    this.#browser = browser;
    this.#messages = messages;
  }

  /** @param messages - in the timeline when a round begins. */
  static async start(messages: number): Promise<Browsing> {
    const browser = await OpenBrowser.start();
    await browser.console.page.addInitScript(observeFrames);
    await openTimeline(browser.console.page, browser.origin);
    return new Browsing(browser, messages);
  }

  async round(): Promise<Sample> {
    await this.#refill();
    const scrolled = ofAllSteps(await this.#page.evaluate(scroll, STEPS));
    const typed = await this.#type();
    const inserted = ofAllSteps(await this.#page.evaluate(insert, STEPS));
    await this.#shows(this.#messages + 50 * STEPS);
    this.#browser.check();
    return {
      ...{ insert: mean(inserted), scroll: mean(scrolled), typing: mean(typed) },
      slowest: Math.max(...inserted, ...scrolled),
    };
  }

  leave(): Promise<void> {
    return this.#browser.stop();
  }

  get #page(): Page {
    return this.#browser.console.page;
  }

  async #refill(): Promise<void> {
    await this.#page.evaluate((messages) => {
      window.timeline.clear();
      window.timeline.fill(messages);
    }, this.#messages);
    await this.#page.evaluate(() => window.twoFrames());
    await this.#shows(this.#messages);
    await expectShown(this.#page, this.#messages);
  }

  /** Types a text into the filter, and removes it again; returns the work for each key. */
  async #type(): Promise<number[]> {
    const field = this.#page.getByLabel('Text in the message');
    const work = await field.evaluate(type, `note://${TYPED}`);
    const places = Array.from({ length: this.#messages }, (_, place) => String(place));
    await expectShown(this.#page, places.filter((place) => place.startsWith(TYPED)).length);
    await field.fill('');
    return work;
  }

  /** Throws unless the newest of so many messages is the first row. */
  async #shows(messages: number): Promise<void> {
    const newest = await rowsOf(this.#page).first().locator('.about').textContent();
    if (newest?.trim() !== `note://${messages - 1}`)
      throw new Error(`of ${messages} messages the first row is ${newest}`);
  }
}

async function expectShown(page: Page, messages: number): Promise<void> {
  const shown = await shownIn(page);
  if (shown !== messages) throw new Error(`the timeline shows ${shown} messages, not ${messages}`);
}

/** Throws if a step was not followed by a frame. */
function ofAllSteps(work: number[]): number[] {
  if (work.length < STEPS) throw new Error(`${STEPS} steps were painted in ${work.length} frames`);
  return work;
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** Steps of a round, each of a frame or more. */
const STEPS = 30;
/** The part of a message number that is typed. */
const TYPED = '49';
