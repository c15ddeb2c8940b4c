import type { ConsolePage } from '../../wasm-tests/console/console-page.ts';
import type { Contender, Sample } from '../harness/experiment.ts';
import { OpenBrowser } from './browser.ts';

/** Resolves once a page does nothing more, so that no load disturbs the next one. */
export type Settled = (console: ConsolePage) => Promise<void>;

/** Opens a page again and again, at the width of a phone and at that of a window. */
export class Painting implements Contender {
  readonly #browser: OpenBrowser;
  readonly #path: string;
  readonly #settled: Settled;

  private constructor(browser: OpenBrowser, path: string, settled: Settled) {
    this.#browser = browser;
    this.#path = path;
    this.#settled = settled;
  }

  static async start(path: string, settled: Settled = async () => {}): Promise<Painting> {
    const browser = await OpenBrowser.start();
    const { page } = browser.console;
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    return new Painting(browser, path, settled);
  }

  async round(): Promise<Sample> {
    const sample = { narrow: await this.#paint(390), wide: await this.#paint(1280) };
    this.#browser.check();
    return sample;
  }

  leave(): Promise<void> {
    return this.#browser.stop();
  }

  /** Milliseconds until the page of this width has painted its first text. */
  async #paint(width: number): Promise<number> {
    const { console, origin } = this.#browser;
    const { page } = console;
    await page.goto('about:blank');
    await page.setViewportSize({ width, height: 800 });
    await page.goto(origin + this.#path);
    const painted = await page.waitForFunction(firstPaint);
    await this.#settled(console);
    return (await painted.jsonValue()) ?? Number.NaN;
  }
}

/** Runs in the page. */
function firstPaint(): number | undefined {
  return performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
}
