import { calling } from '../error.js';
import { eventText, type ServerEvent } from '../event.js';
import type { SubscriptionFilter } from '../filter.js';
import { report } from '../report.js';
import { attachMessage, eventIn, Hub } from '../wasm.js';
import type { BusAttachment, BusLink, ListenBus } from './bus.js';

/** A bus within one process or isolate. Events reach only the streams that this very object holds. */
export class InMemoryBus implements ListenBus {
  readonly #hub = new Hub(crypto.randomUUID(), 0);
  readonly #links = new Map<number, BusLink>();
  readonly #onerror: (error: Error) => void;

  /** @param onerror - told of listeners that throw and of publishes that fail, awaited or not. */
  constructor(onerror: (error: Error) => void = report) {
    this.#onerror = onerror;
  }

  publish(event: ServerEvent): Promise<void> {
    const published = this.#deliver(event);
    published.catch(this.#onerror);
    return published;
  }

  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    const { detach } = this.#join('"everything"', {
      receive: (frame) => {
        const event = eventIn(frame);
        if (event !== undefined) listener(JSON.parse(event) as Known);
      },
      lost: this.#onerror,
    });
    return detach;
  }

  attach(filter: SubscriptionFilter, link: BusLink): BusAttachment {
    return this.#join(JSON.stringify(filter), link);
  }

  /** How many streams and listeners are attached. */
  get attached(): number {
    return this.#hub.attached;
  }

  async #deliver(event: ServerEvent): Promise<void> {
    const text = eventText(event);
    const publication = this.#hub.publish(text);
    const { message, edges } = publication;
    publication.free();
    for (const edge of edges) this.#send(edge, message);
  }

  #send(edge: number, frame: string): void {
    try {
      this.#links.get(edge)?.receive(frame);
    } catch (error) {
      this.#onerror(error as Error);
    }
  }

  #join(interest: string, link: BusLink): BusAttachment {
    const message = calling(() => attachMessage(interest));
    const edge = this.#hub.connect();
    const received = this.#hub.receive(edge, message);
    this.#links.set(edge, link);
    this.#send(edge, received.answer ?? '');
    received.free();
    return { detach: () => this.#leave(edge) };
  }

  #leave(edge: number): void {
    if (this.#links.delete(edge)) this.#hub.disconnect(edge);
  }
}
