import { waitUntil } from 'cloudflare:workers';
import type { BusAttachment, BusLink, ListenBus } from '../bus/bus.js';
import { calling, ListenError } from '../error.js';
import { eventText, type ServerEvent } from '../event.js';
import type { SubscriptionFilter } from '../filter.js';
import type { SessionStore, SessionStream } from '../legacy/session-store.js';
import { report } from '../report.js';
import { attachMessage, eventIn } from '../wasm.js';
import { type BusDoor, BusSocket } from './bus-socket.js';
import { DurableObjectSessions, type SessionStub } from './durable-object-sessions.js';
import type { SubscriptionBus } from './subscription-bus.js';

/** A binding of the class {@link SubscriptionBus}, typed or not. */
export type BusNamespace = DurableObjectNamespace<SubscriptionBus> | DurableObjectNamespace;

/** How a {@link durableObjectBus} is found and how it tells of trouble. */
export interface DurableObjectBusOptions {
  /** Which bus of the namespace: servers with the same name hear each other (default `mcp-listen`). */
  name?: string;
  /** Told of publishes that fail, awaited or not, and of listeners that lost events (default `console.error`). */
  onerror?: (error: Error) => void;
}

/** The bus that all isolates of a Worker share. Make it once, for example at the top of the module. */
export function durableObjectBus(namespace: BusNamespace, options: DurableObjectBusOptions = {}): ListenBus {
  return new DurableObjectBus(namespace, options);
}

interface BusStub extends BusDoor, SessionStub {
  publish(event: string): Promise<number>;
}

class DurableObjectBus implements ListenBus {
  /** Sessions of clients of earlier revisions, in the bus object. */
  readonly sessions: SessionStore = new DurableObjectSessions(() => this.#stub());
  readonly #namespace: BusNamespace;
  readonly #name: string;
  readonly #onerror: (error: Error) => void;

  constructor(namespace: BusNamespace, { name = 'mcp-listen', onerror = report }: DurableObjectBusOptions) {
    this.#namespace = namespace;
    this.#name = name;
    this.#onerror = onerror;
  }

  /** The publish goes on when the response that caused it has been sent. */
  publish(event: ServerEvent): Promise<void> {
    const published = this.#publish(event);
    waitUntil(published.catch(this.#onerror));
    return published;
  }

  attach(filter: SubscriptionFilter, link: BusLink, session?: SessionStream): BusAttachment {
    return this.#join(JSON.stringify(filter), link, session);
  }

  /**
   * Hears every event, while the request lives that subscribed. When the bus is lost, `onerror` is
   * told and the listener attaches again; `attach` is for streams, which must not miss anything.
   */
  subscribe<Known extends ServerEvent>(listener: (event: Known) => void): () => void {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const join = (): BusAttachment =>
      this.#join('"everything"', {
        receive: (frame) => {
          const event = eventIn(frame);
          if (event !== undefined) listener(JSON.parse(event) as Known);
        },
        lost: (error) => {
          this.#onerror(error);
          timer = setTimeout(() => {
            attachment = join();
          }, REJOIN_MS * Math.random());
        },
      });
    let attachment = join();
    return () => {
      clearTimeout(timer);
      attachment.detach();
    };
  }

  #join(interest: string, link: BusLink, session?: SessionStream): BusAttachment {
    const frame = calling(() => attachMessage(interest, session?.id, session?.since));
    return new BusSocket(this.#stub(), frame, link);
  }

  async #publish(event: ServerEvent): Promise<void> {
    const text = eventText(event);
    try {
      await this.#stub().publish(text);
    } catch (cause) {
      throw new ListenError('bus-unavailable', 'the bus did not take the event', { cause });
    }
  }

  #stub(): BusStub {
    return this.#namespace.getByName(this.#name) as unknown as BusStub;
  }
}

/** The longest wait before a lost listener attaches again. */
const REJOIN_MS = 1_000;
