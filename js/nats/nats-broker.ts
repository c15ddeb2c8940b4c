import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Broker, BrokerEar } from '../bus/broker.js';
import { untilAborted } from '../bus/until-aborted.js';
import { JetLog, type JetLogOptions, jetStreamOf } from './jet-log.js';
import type { NatsHold, NatsLine } from './nats-line.js';

/** How a {@link NatsBroker} keeps events. */
export interface NatsBrokerOptions extends JetLogOptions {
  /** Whether it keeps them in JetStream; undefined: where that is there. */
  jetStream: boolean | undefined;
}

/** Events on a subject of NATS, kept in a stream of JetStream where that can be had. */
export class NatsBroker implements Broker {
  readonly #line: NatsLine;
  readonly #subject: string;
  readonly #wantsJetStream: boolean | undefined;
  readonly #log: JetLog;
  /** What was found at each connection. */
  readonly #found = new WeakMap<Promise<Error>, Promise<JetStreamManager | undefined>>();

  constructor(line: NatsLine, name: string, options: NatsBrokerOptions) {
    this.#line = line;
    this.#subject = name;
    this.#wantsJetStream = options.jetStream;
    this.#log = new JetLog(name, options);
  }

  async publish(events: string): Promise<void> {
    const hold = await this.#line.hold();
    const sent = this.#send(hold, events);
    await Promise.race([sent, hold.lost.then(thrown)]);
  }

  async follow(ear: BrokerEar, signal: AbortSignal): Promise<void> {
    const hold = await this.#line.hold();
    if (signal.aborted) return;
    const manager = await this.#jetStream(hold);
    const end = untilAborted(signal);
    const lost = hold.lost.then(thrown);
    if (manager === undefined) await this.#listen(hold.connection, ear, [end, lost]);
    else await this.#log.follow(manager, ear, [end, lost]);
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  async #send(hold: NatsHold, events: string): Promise<void> {
    const manager = await this.#jetStream(hold);
    if (manager !== undefined) return this.#log.append(manager, events);
    hold.connection.publish(this.#subject, events);
    // The server has answered, and so has it what went before.
    await hold.connection.flush();
  }

  /** Nothing is kept: what was published while nobody listened is lost. */
  async #listen(connection: NatsConnection, ear: BrokerEar, ends: Promise<void>[]): Promise<void> {
    const refused = new Promise<never>((_, reject) => {
      const callback = (error: Error | null, message: { string(): string }): void =>
        error === null ? ear.heard(message.string()) : reject(error);
      const subscription = connection.subscribe(this.#subject, { callback });
      const leave = (): void => subscription.unsubscribe();
      Promise.race(ends).then(leave, leave);
    });
    await Promise.race([connection.flush(), refused, ...ends]);
    ear.began(false);
    await Promise.race([refused, ...ends]);
  }

  #jetStream(hold: NatsHold): Promise<JetStreamManager | undefined> {
    if (this.#wantsJetStream === false) return Promise.resolve(undefined);
    const found = this.#found.get(hold.lost) ?? this.#find(hold);
    this.#found.set(hold.lost, found);
    return found;
  }

  /** What failed once is tried again; who had JetStream waits for it. */
  async #find({ connection, lost }: NatsHold): Promise<JetStreamManager | undefined> {
    try {
      const manager = await jetStreamOf(connection, this.#wantsJetStream === true || this.#log.isKnown);
      if (manager !== undefined) await this.#log.provide(manager);
      return manager;
    } catch (error) {
      this.#found.delete(lost);
      throw error;
    }
  }
}

function thrown(error: Error): never {
  throw error;
}
