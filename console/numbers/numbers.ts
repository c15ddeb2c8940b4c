import { byId, element, setText } from '../dom.js';
import { count } from '../format.js';
import { bearer } from '../mcp/endpoint.js';
import { Sparkline } from './sparkline.js';
import { type Reading, Statistics } from './statistics.js';

/** The statistics of the bus, read once a second while the page is visible. */
export class Numbers {
  readonly #note = byId('numbers-note', HTMLElement);
  readonly #tiles = new Map(
    TILES.map(({ key, ...tile }) => [key, { ...tile, value: element('dd', {}, '–') }]),
  );
  readonly #sparklines = new Map(TILES.map(({ key }) => [key, new Sparkline()]));
  readonly #token: () => string;
  #statistics = new Statistics();
  #isReading = false;
  /** The token that was refused last, and when to try it again. */
  #refused: string | undefined;
  #retryAt = 0;

  /**
   * @param token - returns the publish secret, or an empty string: a deployment shows its
   * statistics only with the secret.
   */
  constructor(token: () => string) {
    this.#token = token;
    const list = byId('numbers', HTMLElement);
    for (const [key, { label, hint, value }] of this.#tiles) {
      const term = element('dt', { title: hint }, label);
      const sparkline = this.#sparklines.get(key)?.drawing ?? '';
      list.append(
        element(
          'div',
          { class: 'tile', 'data-key': key },
          term,
          value,
          element('dd', { class: 'line' }, sparkline),
        ),
      );
    }
    setInterval(() => void this.#read(), INTERVAL_MS);
    void this.#read();
  }

  async #read(): Promise<void> {
    const token = this.#token();
    const isRefused = token === this.#refused && performance.now() < this.#retryAt;
    if (document.hidden || this.#isReading || isRefused) return;
    this.#isReading = true;
    try {
      const response = await fetch('/stats', { headers: bearer(token) });
      if (response.ok) this.#show(this.#statistics.add(await response.json()));
      else this.#refuse(response.status, token);
    } catch {
      this.#showUnknown('The server of this page does not answer.');
    } finally {
      this.#isReading = false;
    }
  }

  #refuse(status: number, token: string): void {
    this.#refused = token;
    this.#retryAt = performance.now() + REFUSED_MS;
    this.#showUnknown(REFUSED[status] ?? `The server answered ${status}.`);
  }

  #show({ totals, increase: rise }: Reading): void {
    this.#note.hidden = true;
    for (const [key, { isLevel: isGauge, value }] of this.#tiles) {
      setText(value, count(totals[key]));
      this.#sparklines.get(key)?.add(isGauge ? totals[key] : Math.max(0, rise[key]));
    }
  }

  /** Shows no numbers. A server that comes back has new isolates, and may count from zero. */
  #showUnknown(reason: string): void {
    this.#statistics = new Statistics();
    for (const { value } of this.#tiles.values()) setText(value, '–');
    setText(this.#note, reason);
    this.#note.hidden = false;
  }
}

const TILES = [
  {
    key: 'streams',
    label: 'Streams open',
    hint: 'Streams attached to the bus now',
    isLevel: true,
  },
  {
    key: 'events',
    label: 'Events',
    hint: 'Events published since the log began; the line shows events per second',
    isLevel: false,
  },
  {
    key: 'collapsed',
    label: 'Collapsed',
    hint: 'Cues merged into a pending cue for the same topic',
    isLevel: false,
  },
  {
    key: 'resyncs',
    label: 'Resyncs',
    hint: 'Times that every topic was cued because missed events could not be determined',
    isLevel: false,
  },
] as const;

const REFUSED: Partial<Record<number, string>> = {
  401: 'Statistics require the publish secret: enter it under "Publish".',
  404: 'This server provides no statistics.',
};
const INTERVAL_MS = 1_000;
const REFUSED_MS = 30_000;
