import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { launchChromium } from './chromium.ts';
import { ConsolePage } from './console-page.ts';

/** Opens the console at a URL, in a new context that ends with the test. */
export type OpenConsole = (url: string, options?: BrowserContextOptions) => Promise<ConsolePage>;

/** A headless Chromium for a file of tests. */
export function useChromium(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return () => browser;
}

/** The same, for consoles. A page that logs an error, or throws one, fails its test. */
export function useBrowser(): OpenConsole {
  const browser = useChromium();
  return async (url, options = {}) => {
    const context = await browser().newContext({
      viewport: { width: 1440, height: 900 },
      ...options,
    });
    const page = new ConsolePage(await context.newPage());
    onTestFinished(async () => {
      await context.close();
      expect(page.errors).toEqual([]);
    });
    await page.page.goto(url);
    return page;
  };
}
