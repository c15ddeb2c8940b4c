import { element, found, write } from '../dom.js';
import { bearer } from '../mcp/endpoint.js';
import { count } from '../moment.js';
import { Sparkline } from './sparkline.js';
import { type Reading, Statistics } from './statistics.js';

/** The numbers of the bus, read once a second while the page is seen. */
export class Numbers {
  readonly #note = found('numbers-note', HTMLElement);
  readonly #tiles = new Map(
    TILES.map(({ key, ...tile }) => [key, { ...tile, value: element('dd', {}, '–') }]),
  );
  readonly #lines = new Map(TILES.map(({ key }) => [key, new Sparkline()]));
  readonly #token: () => string;
  #statistics = new Statistics();
  #isAsking = false;
  /** The token that was refused last, and when it is tried again. */
  #refused: string | undefined;
  #askAgain = 0;

  /**
   * @param token - the secret of publishers, where the page knows it: a deployment shows its
   * numbers only with it.
   */
  constructor(token: () => string) {
    this.#token = token;
    const place = found('numbers', HTMLElement);
    for (const [key, { label, hint, value }] of this.#tiles) {
      const term = element('dt', { title: hint }, label);
      const line = this.#lines.get(key)?.drawing ?? '';
      place.append(
        element(
          'div',
          { class: 'tile', 'data-key': key },
          term,
          value,
          element('dd', { class: 'line' }, line),
        ),
      );
    }
    setInterval(() => void this.#ask(), INTERVAL_MS);
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const token = this.#token();
    const isRefused = token === this.#refused && performance.now() < this.#askAgain;
    if (document.hidden || this.#isAsking || isRefused) return;
    this.#isAsking = true;
    try {
      const response = await fetch('/stats', { headers: bearer(token) });
      if (response.ok) this.#show(this.#statistics.take(await response.json()));
      else this.#refuse(response.status, token);
    } catch {
      this.#unknown('The server that this page came from does not answer.');
    } finally {
      this.#isAsking = false;
    }
  }

  #refuse(status: number, token: string): void {
    this.#refused = token;
    this.#askAgain = performance.now() + REFUSED_MS;
    this.#unknown(REFUSED[status] ?? `The server answers ${status}.`);
  }

  #show({ totals, rise }: Reading): void {
    this.#note.hidden = true;
    for (const [key, { isLevel, value }] of this.#tiles) {
      write(value, count(totals[key]));
      this.#lines.get(key)?.add(isLevel ? totals[key] : Math.max(0, rise[key]));
    }
  }

  /** A server that comes back has new isolates, and may count from zero. */
  #unknown(why: string): void {
    this.#statistics = new Statistics();
    for (const { value } of this.#tiles.values()) write(value, '–');
    write(this.#note, why);
    this.#note.hidden = false;
  }
}

const TILES = [
  {
    key: 'streams',
    label: 'Streams open',
    hint: 'Streams that are attached to the bus now',
    isLevel: true,
  },
  {
    key: 'events',
    label: 'Events',
    hint: 'Events published since the log began; the line: each second',
    isLevel: false,
  },
  {
    key: 'collapsed',
    label: 'Collapsed',
    hint: 'Cues spared, since one for the same subject still waited',
    isLevel: false,
  },
  {
    key: 'resyncs',
    label: 'Resyncs',
    hint: 'Times that everything was cued, since nobody could tell what was missed',
    isLevel: false,
  },
] as const;

const REFUSED: Partial<Record<number, string>> = {
  401: 'This server shows its numbers to those who may publish: enter the secret under "Publish".',
  404: 'This server shows no numbers.',
};
const INTERVAL_MS = 1_000;
const REFUSED_MS = 30_000;
