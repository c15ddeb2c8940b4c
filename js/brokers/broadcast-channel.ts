/**
 * A bus over `BroadcastChannel`: connects the threads of a process, the workers of a page, or any
 * other contexts that share a channel on the host.
 *
 * @packageDocumentation
 */
import '#runtime';
import type { Broker, BrokerListener } from '../bus/broker/broker.js';
import { BrokerBus, type ProcessBus, type ProcessBusOptions } from '../bus/broker-bus.js';
import { untilAborted } from '../timing/aborted.js';

export type { ProcessBus, ProcessBusOptions, ProcessBusStats } from '../bus/broker-bus.js';

/**
 * Returns the bus of all contexts that a `BroadcastChannel` with this name reaches. A channel does
 * not confirm delivery: a context misses the events that are published while it is not listening.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const bus = broadcastChannelBus({ bus: 'notebook' });
 * const server = createListenHandler(handler, { bus });
 * ```
 */
export function broadcastChannelBus(options: ProcessBusOptions = {}): ProcessBus {
  return new BrokerBus(new ChannelBroker(options.bus ?? 'mcp-listen'), options);
}

class ChannelBroker implements Broker {
  readonly #name: string;
  #channel: BroadcastChannel | undefined;
  #signals: BroadcastChannel | undefined;
  #listener: BrokerListener | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Also passes the events to the local listener: a channel does not deliver to its sender. */
  async publish(events: string): Promise<void> {
    this.#open().postMessage(events);
    this.#listener?.onEvents(events);
  }

  async follow(listener: BrokerListener, signal: AbortSignal): Promise<void> {
    const channel = this.#open();
    channel.onmessage = ({ data }) => listener.onEvents(typeof data === 'string' ? data : '');
    channel.onmessageerror = () => listener.onGap();
    this.#listener = listener;
    listener.onReady({ isContiguous: true });
    await untilAborted(signal);
  }

  async signal(text: string): Promise<void> {
    this.#openSignals().postMessage(text);
  }

  async followSignals(
    onSignal: (text: string) => void,
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const signals = this.#openSignals();
    signals.onmessage = ({ data }) => onSignal(typeof data === 'string' ? data : '');
    onReady();
    await untilAborted(signal);
  }

  async close(): Promise<void> {
    this.#channel?.close();
    this.#signals?.close();
  }

  #openSignals(): BroadcastChannel {
    this.#signals ??= new BroadcastChannel(`${this.#name}:wanted`);
    return this.#signals;
  }

  #open(): BroadcastChannel {
    this.#channel ??= new BroadcastChannel(this.#name);
    return this.#channel;
  }
}
