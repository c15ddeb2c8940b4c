import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { ConsolePage } from './console-page.ts';

/** Opens the console at a URL, in a new context that ends with the test. */
export type OpenConsole = (url: string, options?: BrowserContextOptions) => Promise<ConsolePage>;

/** The headless Chromium of the lane, for a file of tests. */
export function useChromium(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.connect(inject('chromium'));
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
