import { InMemoryBus, type ListenBus, type ServerEvent } from 'mcp-listen';
import type {
  AttachableBus,
  AttachmentListener,
  AttachOptions,
  BusConnection,
} from '../../../dist/bus/attachable-bus.js';
import type { Opening } from '../../../dist/bus/opening.js';
import { ConnectionPool } from '../../../dist/cloudflare/edge/connection-pool.js';
import { FULL, OUTDATED } from '../../../dist/cloudflare/wire/close-codes.js';
import { type Availability, SmallBus, type SmallSocket } from './small-bus.ts';

/** One connection that the stream of a session requested from a {@link BreakableBus}. */
export interface Attempt {
  link: AttachmentListener;
  /** Its first frame. */
  follow: { joined?: string[]; since?: number };
}

/** A remote bus whose connections a test can refuse, mute and break. */
export class BreakableBus implements AttachableBus {
  /** The bus that the streams of sessions attach to. */
  readonly inner = new InMemoryBus();
  readonly sessions = this.inner.sessions;
  readonly subscribe = this.inner.subscribe.bind(this.inner);
  /** The bus that listen streams connect to. */
  readonly small = new SmallBus();
  /** Every connection of the stream of a session, the newest last. */
  readonly attempts: Attempt[] = [];
  readonly #pool: ConnectionPool;

  constructor(sockets: 'auto' | 'each' | 'shared' = 'each') {
    this.#pool = new ConnectionPool({
      connector: this.small.connector,
      onError: () => {},
      onLog: () => {},
      sockets,
    });
  }

  /** The sockets of listen streams, the newest last. */
  get sockets(): SmallSocket[] {
    return this.small.sockets;
  }

  /** See {@link SmallBus.availability}. */
  set availability(availability: Availability) {
    this.small.availability = availability;
  }

  /** See {@link SmallBus.muted}. */
  set muted(events: number) {
    this.small.muted = events;
  }

  get counters() {
    return this.#pool.counters;
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  async publishAll(events: ServerEvent[]): Promise<void> {
    await this.inner.publishAll(events);
    for (const event of events) this.small.publish(JSON.stringify(event));
  }

  openStream(opening: Opening, joining: AttachOptions) {
    return this.#pool.open(opening, joining);
  }

  settle(): Promise<void> {
    return this.#pool.settle();
  }

  connect(frame: string, link: AttachmentListener): BusConnection {
    const attempt: Attempt = { link, follow: JSON.parse(frame) as Attempt['follow'] };
    this.attempts.push(attempt);
    return this.inner.connect(frame, this.#between(attempt));
  }

  /** Breaks the connection that was opened last. */
  lose(why?: 'full' | 'outdated'): void {
    const code = { full: FULL, outdated: OUTDATED };
    this.sockets.at(-1)?.break(why && code[why]);
    this.attempts.at(-1)?.link.onLost(new Error('gone'));
  }

  #between({ link }: Attempt): AttachmentListener {
    return {
      onFrame: (frame) => {
        if (this.small.muted > 0 && frame.includes('"type":"batch"')) this.small.muted -= 1;
        else link.onFrame(frame);
      },
      onLost: (error) => link.onLost(error),
    };
  }
}

/** A bus that feeds the streams of its process, and one that streams reach over connections. */
export const BUSES: [name: string, newBus: () => ListenBus][] = [
  ['the in-memory bus', () => new InMemoryBus()],
  ['a remote bus', () => new BreakableBus()],
];
