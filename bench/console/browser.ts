import type { Browser } from 'playwright-core';
import { chromiumPath } from '../../scripts/setup/chromium.mjs';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { launchChromium } from '../../wasm-tests/console/chromium.ts';
import { ConsolePage } from '../../wasm-tests/console/console-page.ts';
import { startNotebook } from '../../wasm-tests/host/servers/notebook.ts';

/** A notebook as `npm start` serves it, and one page in headless Chromium. */
export class OpenBrowser {
  readonly console: ConsolePage;
  /** The origin of the notebook. */
  readonly origin: string;
  readonly #workerd: Workerd;
  readonly #browser: Browser;

  private constructor(workerd: Workerd, browser: Browser, console: ConsolePage) {
    this.#workerd = workerd;
    this.#browser = browser;
    this.console = console;
    this.origin = workerd.url ?? '';
  }

  /** Starts both. Installs Chromium where possible; rejects without it. */
  static async start(): Promise<OpenBrowser> {
    process.env['CHROMIUM'] ??= await chromiumPath();
    const browser = await launchChromium();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = new ConsolePage(await context.newPage());
    return new OpenBrowser(await startNotebook(0), browser, page);
  }

  /** Throws if the page has logged or thrown an error. */
  check(): void {
    const { errors } = this.console;
    if (errors.length > 0) throw new Error(errors.join('; '));
  }

  /** Ends both. */
  async stop(): Promise<void> {
    await this.#browser.close();
    await this.#workerd.stop();
  }
}
