import { type ClientWatch, ServerHint } from '../../wasm/client/bindings.js';
import type { ClientListenOptions } from '../options.js';
import type { ChannelMember, ListenChannel } from './channel.js';
import { CoreSource, type Outgoing, type SourceEvent } from './core-source.js';

/** A subscription over a message channel that may carry other messages too. */
export class ChannelSource extends CoreSource {
  readonly #channel: ListenChannel;
  readonly #options: ClientListenOptions;
  readonly #shared: Shared;
  #member: ChannelMember | undefined;
  #joins = 0;
  /** The resources that this source subscribes to in the session of the channel. */
  #uris = new Set<string>();

  constructor(
    channel: ListenChannel,
    filter: string,
    options: ClientListenOptions,
    opensAgain: boolean,
  ) {
    super(filter, undefined, options, opensAgain);
    this.#channel = channel;
    this.#options = options;
    this.#shared = shared.get(channel) ?? { usedIds: 0, sources: new Set() };
    shared.set(channel, this.#shared);
    this.pump();
  }

  override next(): SourceEvent | undefined {
    const event = super.next();
    // The server may have refused some of them.
    if (event?.kind === 'live' && this.#uris.size > 0)
      this.#uris = new Set(event.honored.resourceSubscriptions);
    return event;
  }

  protected join(): void {
    this.#joins += 1;
    const joins = this.#joins;
    this.#shared.sources.add(this);
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
          this.#reserveIds(),
          time,
        );
      });
  }

  protected send({ body }: Outgoing): void {
    if (body === undefined || this.#handleResource(JSON.parse(body))) return;
    this.logSent(body);
    this.#member?.send(body);
  }

  protected drop(): void {
    // A channel has no response to close.
  }

  protected release(): void {
    // The member is kept until `leave`, so that the server can still be notified.
  }

  protected leave(): void {
    this.#joins += 1;
    this.#shared.sources.delete(this);
    this.#uris = new Set();
    this.#member?.leave();
    this.#member = undefined;
  }

  /**
   * Handles a message that is about to be sent. Returns whether it would end the notifications of
   * another source: a session has at most one subscription to each resource.
   */
  #handleResource({ method, params }: ResourceMessage): boolean {
    if (method === 'resources/subscribe') this.#uris.add(params.uri);
    if (method !== 'resources/unsubscribe') return false;
    this.#uris.delete(params.uri);
    return [...this.#shared.sources].some((source) => source.#uris.has(params.uri));
  }

  /** Reserves a range of request ids, so that the subscriptions of one channel do not share ids. */
  #reserveIds(): number {
    const first = this.#shared.usedIds;
    this.#shared.usedIds += IDS_PER_SUBSCRIPTION;
    return first;
  }
}

/** What the sources of one channel share. */
interface Shared {
  /** The number of request ids that are reserved. */
  usedIds: number;
  /** Those that have joined the channel. */
  readonly sources: Set<ChannelSource>;
}

/** The members of a message that are read if it is about a resource. */
interface ResourceMessage {
  method?: string;
  params: { uri: string };
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

/** The number of ids that each subscription of a channel reserves. */
const IDS_PER_SUBSCRIPTION = 10_000;
const shared = new WeakMap<ListenChannel, Shared>();
