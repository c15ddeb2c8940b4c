import type { ChangeEvent } from 'mcp-listen';
import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { bearer } from '../mcp/access/access.js';
import { record, text } from '../mcp/json.js';
import { topicOfEvent } from '../mcp/topic.js';

/** How several events are published. */
export type Pace = 'each-after-the-last' | 'fifty-a-second' | 'as-one-batch';

/** Publishes events at the server of this page. */
export class Publisher {
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  /**
   * Publishes an event `times` times; resolves with the position of the last one.
   *
   * @throws Error with a message for the user.
   */
  async publish(event: ChangeEvent, times: number, pace: Pace, token: string): Promise<number> {
    if (pace === 'as-one-batch')
      return this.#post(Array<ChangeEvent>(times).fill(event), event, token).position;
    const positions: Promise<number>[] = [];
    const began = performance.now();
    for (let done = 0; done < times; done += 1) {
      const { arrived, position } = this.#post(event, event, token);
      positions.push(position);
      if (pace === 'fifty-a-second') await pauseUntil(began + (done + 1) * 20, position);
      else await Promise.all([arrived, position]);
    }
    return Math.max(...(await Promise.all(positions)));
  }

  #post(body: ChangeEvent | ChangeEvent[], event: ChangeEvent, token: string) {
    const publication = this.#arrivals.begin(now(), [topicOfEvent(event)]);
    const position = post(body, token);
    void position.then(
      () => publication.settle(),
      () => publication.settle([]),
    );
    return { position, arrived: publication.arrived };
  }
}

/** Waits until `time` on the clock of `performance.now()`; rejects if the publish fails before. */
async function pauseUntil(time: number, position: Promise<number>): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => void position.catch(reject));
  const elapsed = new Promise<void>((resolve) => setTimeout(resolve, time - performance.now()));
  await Promise.race([elapsed, failed]);
}

async function post(body: unknown, token: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json', ...bearer(token) };
  const response = await fetch('/publish', { method: 'POST', headers, body: JSON.stringify(body) });
  const result = record(await response.json().catch(() => undefined)) ?? {};
  if (response.ok) return Number(result['position']);
  const code = text(result['error']) ?? '';
  throw new Error(
    REFUSED[response.status] ?? `The server responded with ${response.status} ${code}`,
  );
}

const REFUSED: Partial<Record<number, string>> = {
  400: 'The event is not valid (400).',
  401: 'The secret is missing or wrong (401).',
  403: 'This page or this publisher may not publish the event (403).',
  404: 'This server accepts no events over HTTP: PUBLISH_TOKEN is not set (404).',
  429: 'Too many attempts with a wrong secret: try again in a minute (429).',
  503: 'The bus did not accept the event (503).',
};
