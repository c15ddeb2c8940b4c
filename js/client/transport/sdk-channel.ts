import { withTimeout } from '../../timing/with-timeout.js';
import type { ChannelMember, ChannelReceiver, ListenChannel } from './channel.js';

/** The part of a connected `Client` of the official SDKs (1.x and 2.x) that is used. */
export interface SdkClient {
  /** The transport of the client, once it is connected. */
  readonly transport?: SdkTransport | undefined;
  /** Returns the capabilities that the server announced, once the client is connected. */
  getServerCapabilities(): object | undefined;
  /** Returns the negotiated revision. 2.x only. */
  getNegotiatedProtocolVersion?(): string | undefined;
}

/**
 * The part of the client's transport that is used. Declared as methods, since each SDK has its own
 * message types.
 */
export interface SdkTransport {
  /** Sends one JSON-RPC message. */
  send(message: unknown, options?: unknown): Promise<void>;
  /** Called with each message of the server. */
  onmessage?: Receive['call'] | undefined;
  /** Called when the connection closes. */
  onclose?: (() => void) | undefined;
}

interface Receive {
  call(message: unknown, extra?: unknown): void;
}

/** Returns the transport of an SDK client as a channel. The client keeps using it too. */
export function sdkChannel(client: SdkClient): ListenChannel {
  const known = channels.get(client);
  if (known !== undefined) return known;
  const channel = {
    join: (receiver: ChannelReceiver) =>
      client.transport && new SdkMember(client, client.transport, receiver),
  };
  channels.set(client, channel);
  return channel;
}

class SdkMember implements ChannelMember {
  readonly revision: ChannelMember['revision'];
  readonly capabilities: string;
  readonly #transport: SdkTransport;
  readonly #receiver: ChannelReceiver;
  /** Aborts the response to the listen request, on transports that have responses. */
  readonly #abort = new AbortController();

  constructor(client: SdkClient, transport: SdkTransport, receiver: ChannelReceiver) {
    this.revision =
      client.getNegotiatedProtocolVersion?.() === '2026-07-28' ? '2026-07-28' : 'session';
    this.capabilities = JSON.stringify({ ...client.getServerCapabilities() });
    this.#transport = transport;
    this.#receiver = receiver;
    receiversOf(transport).add(receiver);
  }

  send(text: string): void {
    const options = {
      requestSignal: this.#abort.signal,
      onRequestStreamEnd: () => this.revision === '2026-07-28' && this.#receiver.gone(),
    };
    const message = JSON.parse(text) as { method?: string; params?: { uri?: string } };
    const isListen = message.method === 'subscriptions/listen';
    this.#inOrder(message.params?.uri, () =>
      this.#transport.send(message, isListen ? options : undefined),
    ).catch((error) => this.#fail(error));
  }

  leave(): void {
    receiversOf(this.#transport).delete(this.#receiver);
    this.#abort.abort();
  }

  /**
   * Sends a message after the last one about the same resource: over HTTP a subscribe request could
   * overtake the unsubscribe request before it.
   */
  async #inOrder(uri: string | undefined, send: () => Promise<void>): Promise<void> {
    if (uri === undefined) return send();
    const sending = sendingOn(this.#transport);
    const former = sending.get(uri);
    const sent = former === undefined ? send() : former.then(send);
    const settled = Promise.resolve(former)
      .then(() => withTimeout(ORDER_MS, sent, () => new Error()))
      .catch(() => {});
    sending.set(uri, settled);
    try {
      await sent;
    } finally {
      if (sending.get(uri) === settled) sending.delete(uri);
    }
  }

  #fail(error: unknown): void {
    const status = statusOf(error);
    if (status === undefined) this.#receiver.gone(error);
    else this.#receiver.refused(status);
  }
}

/**
 * Returns the receivers that get the messages of a transport before its client. The first call
 * hooks into the transport.
 */
function receiversOf(transport: SdkTransport): Set<ChannelReceiver> {
  const known = taps.get(transport);
  if (known !== undefined) return known;
  const receivers = new Set<ChannelReceiver>();
  taps.set(transport, receivers);
  const { onmessage, onclose } = transport;
  transport.onmessage = (message, extra) => {
    const line = encoder.encode(`${JSON.stringify(message)}\n`);
    const isTaken = [...receivers].map((receiver) => receiver.receive(line)).includes(true);
    if (!isTaken) onmessage?.call(transport, message, extra);
  };
  transport.onclose = () => {
    taps.delete(transport);
    for (const receiver of [...receivers]) receiver.gone();
    onclose?.call(transport);
  };
  return receivers;
}

/** Returns the last message about each resource that is being sent on a transport. */
function sendingOn(transport: SdkTransport): Map<string, Promise<void>> {
  const known = sends.get(transport) ?? new Map<string, Promise<void>>();
  sends.set(transport, known);
  return known;
}

/** Returns the HTTP status in an error of an SDK. */
function statusOf(error: unknown): number | undefined {
  const { name, status, data } = error as {
    name?: string;
    status?: unknown;
    data?: { status?: unknown };
  };
  if (name === 'UnauthorizedError') return 401;
  const reported = data?.status ?? status;
  return typeof reported === 'number' ? reported : undefined;
}

/** Milliseconds for which a message waits for one before it whose request has no response. */
const ORDER_MS = 5_000;
const encoder = new TextEncoder();
const channels = new WeakMap<SdkClient, ListenChannel>();
const taps = new WeakMap<SdkTransport, Set<ChannelReceiver>>();
const sends = new WeakMap<SdkTransport, Map<string, Promise<void>>>();
