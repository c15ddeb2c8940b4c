import { callRequest } from './call.ts';
import { WireStream } from './listen.ts';

/** A notification of a stream of events. */
export interface EventNotification {
  method: string;
  params: Record<string, unknown>;
}

/** Reads a stream of events. */
export class EventReader {
  readonly #stream: WireStream;

  constructor(response: Response, abort = new AbortController()) {
    this.#stream = new WireStream(response, abort);
  }

  /** Returns the next notification, or the result; undefined at the end. */
  async next(): Promise<EventNotification | undefined> {
    const text = await this.#stream.message();
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Disconnects. */
  drop(): void {
    this.#stream.drop();
  }
}

/** Opens a stream of events. */
export async function streamEvents(
  url: string,
  params: Record<string, unknown>,
  id: string | number = 1,
): Promise<EventReader> {
  const abort = new AbortController();
  const request = callRequest(url, 'events/stream', params);
  const body = JSON.stringify({ ...(await request.clone().json()), id });
  const { headers } = request;
  const response = await fetch(url, { method: 'POST', headers, body, signal: abort.signal });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return new EventReader(response, abort);
}
