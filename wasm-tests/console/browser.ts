import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { ConsolePage } from './console-page.ts';

/** Opens the console at a URL, in a context of its own that ends with the test. */
export type OpenConsole = (url: string, options?: BrowserContextOptions) => Promise<ConsolePage>;

/** A headless Chromium for a file of tests. */
export function useChromium(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    const { args } = JSON.parse(await readFile(join(root, 'wasm-tests', 'webdriver.json'), 'utf8'))[
      'goog:chromeOptions'
    ];
    browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args,
    });
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
