import {
  type BusAttachment,
  type BusLink,
  InMemoryBus,
  type Joining,
  type ListenBus,
  type SubscriptionFilter,
} from 'mcp-listen';

/** One attach that a {@link BreakableBus} was asked for. */
export interface Attempt {
  link: BusLink;
  joining: Joining | undefined;
  isLeft: boolean;
}

/** An in-memory bus between which and its streams anything can happen. */
export class BreakableBus implements ListenBus {
  readonly inner = new InMemoryBus();
  readonly sessions = this.inner.sessions;
  readonly publish = this.inner.publish.bind(this.inner);
  readonly publishAll = this.inner.publishAll.bind(this.inner);
  readonly subscribe = this.inner.subscribe.bind(this.inner);
  /** Every attach, the last one last. */
  readonly attempts: Attempt[] = [];
  /** What happens to an attach: it gets through, is refused, throws, or is never answered. */
  door: 'open' | 'shut' | 'throwing' | 'silent' = 'open';
  /** Whether it can be attached to again in place. */
  hasAgain = true;
  /** Events on their way that are lost. */
  muted = 0;

  attach(filter: SubscriptionFilter, link: BusLink, joining?: Joining): BusAttachment {
    if (this.door === 'throwing') throw new Error('thrown');
    const attempt: Attempt = { link, joining, isLeft: false };
    this.attempts.push(attempt);
    if (this.door === 'shut') link.lost(new Error('shut'));
    const inner = this.door === 'open' ? this.inner.attach(filter, this.#between(attempt), joining) : undefined;
    const detach = (): void => {
      attempt.isLeft = true;
      inner?.detach();
    };
    return this.hasAgain && inner?.again ? { detach, again: inner.again } : { detach };
  }

  /** The bus loses the stream that attached last. */
  lose(error: Error = new Error('gone')): void {
    this.attempts.at(-1)?.link.lost(error);
  }

  #between({ link }: Attempt): BusLink {
    return {
      receive: (frame) => {
        if (this.muted > 0 && frame.includes('"type":"event"')) this.muted -= 1;
        else link.receive(frame);
      },
      lost: (error) => link.lost(error),
    };
  }
}
