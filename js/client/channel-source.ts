import type { ChannelMember, ListenChannel } from './channel.js';
import { now } from './clock.js';
import { ClientApproach, ClientListener } from './core.js';
import { CoreSource, type Outgoing } from './core-source.js';
import { calling } from './error.js';
import { DEFAULTS, infoOf, type ListenOptions } from './options.js';

/** A subscription on a channel of messages, which may carry others too. */
export class ChannelSource extends CoreSource {
  readonly #member: ChannelMember | undefined;

  constructor(channel: ListenChannel, filter: string, options: ListenOptions) {
    const member = channel.join({
      receive: (lines) => this.at((machine, time) => machine.receive(0, lines, time)) ?? false,
      gone: (cause) => {
        this.cause = cause;
        this.at((machine, time) => machine.finish(0, time));
      },
      refused: (status) => void this.at((machine, time) => machine.head(0, status, '', time)),
    });
    super(machineOf(member, filter, options, reserved(channel)), options.onMessage);
    this.#member = member;
    if (member === undefined) this.at((machine, time) => machine.finish(0, time));
    else this.pump();
  }

  protected send({ body }: Outgoing): void {
    if (body !== null) this.#member?.send(body);
  }

  protected drop(): void {
    // A channel has no answers of its own to close.
  }

  protected release(): void {
    // The server is told first: see `leave`.
  }

  protected leave(): void {
    this.#member?.leave();
  }
}

function machineOf(member: ChannelMember | undefined, filter: string, options: ListenOptions, minted: number) {
  const { ackTimeoutMs } = { ...DEFAULTS, ...options };
  const isTapped = options.onMessage !== undefined;
  const way = approach(member, options);
  const info = infoOf(options);
  try {
    return calling(() =>
      ClientListener.onChannel(filter, way, member?.capabilities, info, ackTimeoutMs, isTapped, minted, now()),
    );
  } catch (error) {
    member?.leave();
    throw error;
  }
}

function approach(member: ChannelMember | undefined, { era = 'auto' }: ListenOptions): ClientApproach {
  if (member?.era === '2026-07-28') return ClientApproach.Modern;
  if (member?.era === 'session') return ClientApproach.Legacy;
  if (era === 'auto') return ClientApproach.Discover;
  return era === '2025' ? ClientApproach.Legacy : ClientApproach.Modern;
}

/** The subscriptions of one channel share no ids. */
function reserved(channel: ListenChannel): number {
  const first = taken.get(channel) ?? 0;
  taken.set(channel, first + IDS_EACH);
  return first;
}

const IDS_EACH = 10_000;
const taken = new WeakMap<ListenChannel, number>();
