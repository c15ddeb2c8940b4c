import { join } from 'node:path';
import { build } from 'esbuild';
import type { Locator, Page } from 'playwright-core';

/** The timeline in a page of {@link openTimeline}, as `window.timeline`. */
export interface FillableTimeline {
  /**
   * Adds so many messages at once. Each is a cue for `note://0`, `note://1` and so on, counted from
   * the last `clear`.
   */
  fill(messages: number): void;
  /** Drops all messages. */
  clear(): void;
  /** Holds back animation frames: a page in the background gets none. */
  hide(): void;
  /** Runs what was held back. */
  show(): void;
}

/** Opens the console at a URL with its timeline alone: it connects to nothing. */
export async function openTimeline(page: Page, url: string): Promise<void> {
  const script = await bundledScript();
  await page.route('**/console-*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: script }),
  );
  await page.goto(url);
  await page.waitForFunction(() => 'timeline' in window);
}

/** The rows of the timeline that are in the page, newest first. */
export function rowsOf(page: Page): Locator {
  return page.getByRole('list', { name: 'Messages, newest first' }).getByRole('listitem');
}

/** Returns how many messages the timeline shows, in view or not; 0 if no message matches. */
export async function shownIn(page: Page): Promise<number> {
  const [first] = await rowsOf(page).all();
  return Number((await first?.getAttribute('aria-setsize')) ?? 0);
}

async function bundledScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'script.ts')],
    ...{ bundle: true, write: false, format: 'esm' },
  });
  return outputFiles[0]?.text ?? '';
}

declare global {
  interface Window {
    timeline: FillableTimeline;
  }
}
