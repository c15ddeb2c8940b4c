import { setTimeout as wait } from 'node:timers/promises';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../wasm-tests/host/bundle.ts';
import { callRequest } from '../../wasm-tests/host/call.ts';
import { type EventReader, streamEvents } from '../../wasm-tests/host/events.ts';
import { HOOK_SECRET } from '../../wasm-tests/host/webhook.ts';
import { Receiver } from '../webhooks/receiver.ts';
import { type Counts, each } from './counts.ts';
import { settled } from './settled.ts';

/** The counts of one occurrence of MCP Events. */
export interface CountedEvents {
  /** No stream and no webhook receives it. */
  alone: Counts;
  /** Streams in every isolate receive it. */
  streams: Counts;
  /** Webhooks of one object receive it, and no streams. */
  webhooks: Counts;
}

/** The size of a run. */
export interface EventSizes {
  /** Occurrences of each kind, one after another. */
  events: number;
  streams: number;
  webhooks: number;
}

/** Occurrences, their streams in isolates and their webhooks in one object, on workerd. */
export class EventExample {
  readonly #workerd: Workerd;
  readonly #receiver: Receiver;
  readonly #sizes: EventSizes;

  private constructor(workerd: Workerd, receiver: Receiver, sizes: EventSizes) {
    this.#workerd = workerd;
    this.#receiver = receiver;
    this.#sizes = sizes;
  }

  /** Runs the example, and stops workerd. */
  static async run(sizes: EventSizes): Promise<CountedEvents> {
    const receiver = await Receiver.start();
    const workerd = await startWorkerd({
      bundle: await bundleWorker('bench/workers/cost'),
      edges: EVENT_ISOLATES,
      durableObjects: [{ binding: 'COST_BUS', className: 'CountedBus' }],
      text: { SOCKETS: 'auto', EDGES_PER_SHARD: '32768', RECEIVER: receiver.origin },
      reachesLocal: true,
    });
    try {
      return await new EventExample(workerd, receiver, sizes).#measure();
    } finally {
      await workerd.kill();
      await receiver.stop();
    }
  }

  async #measure(): Promise<CountedEvents> {
    // The first occurrence creates the tables.
    await this.#publish();
    const alone = await this.#counted(SHORT_MS);
    await this.#webhooks('events/subscribe');
    const webhooks = await this.#counted(PAUSE_MS);
    const expected = this.#sizes.webhooks * this.#sizes.events;
    if (this.#receiver.messages !== expected)
      throw new Error(`the endpoint got ${this.#receiver.messages} messages, not ${expected}`);
    await this.#webhooks('events/unsubscribe');
    await settled(this.#workerd.bus);
    const readers = await this.#streams();
    const streams = await this.#counted(SHORT_MS);
    for (const reader of readers) reader.drop();
    return { alone, streams, webhooks };
  }

  /** The counts of one occurrence, with everything that it causes within the pause after it. */
  async #counted(pauseMs: number): Promise<Counts> {
    const { events } = this.#sizes;
    const before = await settled(this.#workerd.bus, pauseMs);
    for (let event = 0; event < events; event += 1) {
      await this.#publish();
      await wait(pauseMs);
    }
    return each(before, await settled(this.#workerd.bus, pauseMs), events);
  }

  async #publish(): Promise<void> {
    await fetch(`${this.#workerd.edges[0]}/emit`, { method: 'POST', body: 'acme' });
  }

  /** Opens streams in all isolates, and reads what they receive. */
  async #streams(): Promise<EventReader[]> {
    const readers: EventReader[] = [];
    for (let stream = 0; stream < this.#sizes.streams; stream += 1) {
      const edge = this.#workerd.edges[stream % EVENT_ISOLATES];
      const reader = await streamEvents(`${edge}/events`, { name: 'order.paid' });
      await reader.next();
      void drain(reader);
      readers.push(reader);
    }
    return readers;
  }

  async #webhooks(method: 'events/subscribe' | 'events/unsubscribe'): Promise<void> {
    for (let webhook = 0; webhook < this.#sizes.webhooks; webhook += 1) {
      const url = `${this.#receiver.origin}/${webhook}`;
      const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
      const params = { name: 'order.paid', delivery };
      const request = callRequest(`${this.#workerd.edges[0]}/events`, method, params);
      request.headers.set('authorization', 'ada');
      const { error } = (await (await fetch(request)).json()) as { error?: object };
      if (error !== undefined) throw new Error(JSON.stringify(error));
    }
    // Nothing is sent in the first second of a subscription.
    await wait(PAUSE_MS);
  }
}

async function drain(reader: EventReader): Promise<void> {
  try {
    while ((await reader.next()) !== undefined);
  } catch {
    // The stream was dropped.
  }
}

/** Isolates that hold the streams. */
export const EVENT_ISOLATES = 4;
/** More than the second after which the bus stores what objects have confirmed. */
const PAUSE_MS = 1_300;
/** Without webhooks there are no timers and no alarms. */
const SHORT_MS = 300;
