import type { ChangeEvent } from 'mcp-listen';
import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { bearer } from '../mcp/endpoint.js';
import { record, text } from '../mcp/json.js';
import { subjectOfEvent } from '../mcp/subject.js';

/** How several events are published. */
export type Pace = 'each-after-the-last' | 'fifty-a-second' | 'as-one-batch';

/** Posts events to the server that the page came from. */
export class Publisher {
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  /**
   * Publishes an event so many times; resolves with the position of the last one.
   *
   * @throws Error with what the server says.
   */
  async publish(event: ChangeEvent, times: number, pace: Pace, token: string): Promise<number> {
    if (pace === 'as-one-batch')
      return this.#post(Array<ChangeEvent>(times).fill(event), event, token).position;
    const answers: Promise<number>[] = [];
    const began = performance.now();
    for (let done = 0; done < times; done += 1) {
      const { arrived, position } = this.#post(event, event, token);
      answers.push(position);
      if (pace === 'fifty-a-second') await pauseUntil(began + (done + 1) * 20, position);
      else await Promise.all([arrived, position]);
    }
    return Math.max(...(await Promise.all(answers)));
  }

  #post(body: ChangeEvent | ChangeEvent[], event: ChangeEvent, token: string) {
    const publication = this.#arrivals.begin(now(), [subjectOfEvent(event)]);
    const position = post(body, token);
    void position.then(
      () => publication.settle(),
      () => publication.settle([]),
    );
    return { position, arrived: publication.arrived };
  }
}

/** Waits for a moment; a publish that fails until then ends the run. */
async function pauseUntil(moment: number, position: Promise<number>): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => void position.catch(reject));
  const passed = new Promise<void>((resolve) => setTimeout(resolve, moment - performance.now()));
  await Promise.race([passed, failed]);
}

async function post(body: unknown, token: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json', ...bearer(token) };
  const response = await fetch('/publish', { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = record(await response.json().catch(() => undefined)) ?? {};
  if (response.ok) return Number(answer['position']);
  const code = text(answer['error']) ?? '';
  throw new Error(REFUSED[response.status] ?? `The server answers ${response.status} ${code}`);
}

const REFUSED: Partial<Record<number, string>> = {
  400: 'That is no event (400).',
  401: 'The secret is missing, or another one (401).',
  403: 'This page or this publisher may not publish that (403).',
  404: 'This server publishes nothing over HTTP: it has no PUBLISH_TOKEN (404).',
  429: 'Too many attempts with a wrong secret: try again in a minute (429).',
  503: 'The bus did not take it (503).',
};
