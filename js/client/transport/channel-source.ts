import { type ClientWatch, ServerHint } from '../../wasm/client/bindings.js';
import type { ClientListenOptions } from '../options.js';
import type { ChannelMember, ListenChannel } from './channel.js';
import { CoreSource, type Outgoing } from './core-source.js';

/** A subscription over a message channel that may carry other messages too. */
export class ChannelSource extends CoreSource {
  readonly #channel: ListenChannel;
  readonly #options: ClientListenOptions;
  #member: ChannelMember | undefined;
  #joins = 0;

  constructor(
    channel: ListenChannel,
    filter: string,
    options: ClientListenOptions,
    opensAgain: boolean,
  ) {
    super(filter, undefined, options, opensAgain);
    this.#channel = channel;
    this.#options = options;
    this.pump();
  }

  protected join(): void {
    this.#joins += 1;
    const joins = this.#joins;
    // Ignores input that arrives late from a channel that this source has left.
    const pass = <T>(input: (machine: ClientWatch, time: number) => T) =>
      joins === this.#joins ? this.at(input) : undefined;
    const gone = (cause?: unknown) =>
      pass((machine, time) => {
        this.cause = cause;
        machine.handleEnd(0, time);
      });
    const member = this.#channel.join({
      receive: (lines) => pass((machine, time) => machine.handleBytes(0, lines, time)) ?? false,
      gone,
      refused: (status) => void pass((machine, time) => machine.handleHead(0, status, '', time)),
    });
    this.#member = member;
    if (member === undefined) gone();
    else
      pass((machine, time) => {
        machine.handleJoined(
          hint(member, this.#options),
          member.capabilities,
          reserveIds(this.#channel),
          time,
        );
      });
  }

  protected send({ body }: Outgoing): void {
    if (body !== undefined) this.#member?.send(body);
  }

  protected drop(): void {
    // A channel has no response to close.
  }

  protected release(): void {
    // The member is kept until `leave`, so that the server can still be notified.
  }

  protected leave(): void {
    this.#joins += 1;
    this.#member?.leave();
    this.#member = undefined;
  }
}

function hint(
  { revision: known }: ChannelMember,
  { revision = 'auto' }: ClientListenOptions,
): ServerHint {
  if (known === '2026-07-28') return ServerHint.Modern;
  if (known === 'session') return ServerHint.Legacy;
  if (revision === 'auto') return ServerHint.Discover;
  return revision === '2025' ? ServerHint.Legacy : ServerHint.Modern;
}

/** Reserves a range of request ids, so that the subscriptions of one channel do not share ids. */
function reserveIds(channel: ListenChannel): number {
  const first = reservedIds.get(channel) ?? 0;
  reservedIds.set(channel, first + IDS_PER_SUBSCRIPTION);
  return first;
}

/** The number of ids that each subscription of a channel reserves. */
const IDS_PER_SUBSCRIPTION = 10_000;
const reservedIds = new WeakMap<ListenChannel, number>();
