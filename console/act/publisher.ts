import type { ChangeEvent, Order, PublishedEvent } from 'mcp-listen';
import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { type Topic, topicOfEvent } from '../mcp/topic.js';
import { type Done, sendOrder } from '../order.js';

/** How several events are published. */
export type Pace = 'each-after-the-last' | 'fifty-a-second' | 'as-one-batch';

/** Sends orders to the server of this page, and measures when what they publish arrives. */
export class Publisher {
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  /**
   * Publishes an event `times` times; resolves with the position of the last one, or with undefined
   * on a bus without positions.
   *
   * @throws Error with a message for the user.
   */
  async publish(
    event: ChangeEvent,
    times: number,
    pace: Pace,
    token: string,
  ): Promise<number | undefined> {
    if (pace === 'as-one-batch') return this.#publish(event, times, token).position;
    const positions: Promise<number | undefined>[] = [];
    const began = performance.now();
    for (let done = 0; done < times; done += 1) {
      const { arrived, position } = this.#publish(event, 1, token);
      positions.push(position);
      if (pace === 'fifty-a-second') await pauseUntil(began + (done + 1) * 20, position);
      else await Promise.all([arrived, position]);
    }
    const known = (await Promise.all(positions)).filter((position) => position !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  }

  /** Sends an order. */
  send(order: Order, token: string): Sent {
    const events = order.do === 'publish' ? order.events : [];
    const topics = [...new Set(events.flatMap(topicsOf))];
    const publication = this.#arrivals.begin(now(), topics);
    const done = sendOrder(order, token);
    void done.then(
      () => publication.settle(),
      () => publication.settle([]),
    );
    return { done, arrived: publication.arrived };
  }

  #publish(event: ChangeEvent, times: number, token: string) {
    const events = Array<ChangeEvent>(times).fill(event);
    const { arrived, done } = this.send({ do: 'publish', events }, token);
    return { position: done.then(({ position }) => position), arrived };
  }
}

/** An order that was sent. */
interface Sent {
  /** Resolves with the result; rejects with a message for the user. */
  done: Promise<Done>;
  /** Resolves when the cues of what it publishes have arrived, or after a timeout. */
  arrived: Promise<void>;
}

/** Returns the topic of a change; none for what has no cue. */
function topicsOf(event: PublishedEvent): Topic[] {
  switch (event.kind) {
    case 'event':
    case 'disconnect':
      return [];
    case 'for_group':
      return [topicOfEvent(event.event)];
    default:
      return [topicOfEvent(event)];
  }
}

/** Waits until `time` on the clock of `performance.now()`; rejects if the publish fails before. */
async function pauseUntil(time: number, position: Promise<unknown>): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => void position.catch(reject));
  const elapsed = new Promise<void>((resolve) => setTimeout(resolve, time - performance.now()));
  await Promise.race([elapsed, failed]);
}
