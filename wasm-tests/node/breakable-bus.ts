import { InMemoryBus, type ServerEvent } from 'mcp-listen';
import type {
  AttachableBus,
  AttachmentListener,
  AttachOptions,
  BusConnection,
} from '../../dist/bus/attachable-bus.js';
import type { Opening } from '../../dist/bus/opening.js';
import { ConnectionPool } from '../../dist/cloudflare/edge/connection-pool.js';
import { FULL, OUTDATED } from '../../dist/cloudflare/wire/close-codes.js';
import { type Door, SmallBus, type SmallSocket } from './small-bus.ts';

/** One connection of a session's stream that a {@link BreakableBus} was asked for. */
export interface Attempt {
  link: AttachmentListener;
  /** What its first frame says. */
  follow: { joined?: string[]; since?: number };
}

/** A bus to which streams have connections, between which and their streams anything can happen. */
export class BreakableBus implements AttachableBus {
  /** What the streams of sessions attach to. */
  readonly inner = new InMemoryBus();
  readonly sessions = this.inner.sessions;
  readonly subscribe = this.inner.subscribe.bind(this.inner);
  /** What listen streams are connected to. */
  readonly small = new SmallBus();
  /** Every connection of a session's stream, the last one last. */
  readonly attempts: Attempt[] = [];
  readonly #lines: ConnectionPool;

  constructor(sockets: 'each' | 'shared' = 'each') {
    this.#lines = new ConnectionPool({
      connector: this.small.doors,
      onError: () => {},
      onLog: () => {},
      sockets,
    });
  }

  /** The sockets of listen streams, the last one last. */
  get sockets(): SmallSocket[] {
    return this.small.sockets;
  }

  /** See {@link SmallBus.door}. */
  set door(door: Door) {
    this.small.door = door;
  }

  /** See {@link SmallBus.muted}. */
  set muted(events: number) {
    this.small.muted = events;
  }

  get counters() {
    return this.#lines.counters;
  }

  publish(event: ServerEvent): Promise<void> {
    return this.publishAll([event]);
  }

  async publishAll(events: ServerEvent[]): Promise<void> {
    await this.inner.publishAll(events);
    for (const event of events) this.small.publish(JSON.stringify(event));
  }

  openStream(opening: Opening, joining: AttachOptions) {
    return this.#lines.open(opening, joining);
  }

  settle(): Promise<void> {
    return this.#lines.settle();
  }

  connect(frame: string, link: AttachmentListener): BusConnection {
    const attempt: Attempt = { link, follow: JSON.parse(frame) as Attempt['follow'] };
    this.attempts.push(attempt);
    return this.inner.connect(frame, this.#between(attempt));
  }

  /** The bus loses the stream that was connected last. */
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
