import { ListenError } from '../../model/error.js';
import { isolateId } from '../../observe/isolate-id.js';
import { type ShardAddress, shardAddress, shardName } from '../wire/names.js';
import { ISOLATE_HEADER } from '../wire/operate.js';
import { retrying } from '../wire/retry.js';
import { type BusNamespace, busStub, type SocketStub, shardStub } from '../wire/stubs.js';
import {
  CONTINENT_HEADER,
  DEPLOYMENT_HEADER,
  FULL_HEADER,
  KEY_HEADER,
  SHARD_HEADER,
  WIRE,
  WIRE_HEADER,
} from '../wire/upgrade.js';
import { deployment } from './deployment.js';
import { MAX_CONNECT_ATTEMPTS, ObjectKeyCache } from './object-keys.js';

/** Replies to a frame by `reply` if it is a question of an operator; otherwise returns false. */
export type OperatorResponder = (frame: string, reply: (frame: string) => void) => boolean;

/** An open socket and the object at its other end. */
export interface OpenedSocket {
  socket: WebSocket;
  /** The shard; undefined for the bus object. */
  shard: ShardAddress | undefined;
}

/**
 * Opens sockets to a bus from one isolate: through the bus object, which redirects edges to a
 * shard, or directly to the shard that an earlier edge of the same continent was redirected to.
 * Fetches the key of each object once and keeps it.
 */
export class BusConnector {
  /** Extends the life of the calling request, by at most 30 seconds after it was cancelled. */
  readonly waitUntil: (what: Promise<void>) => void;
  readonly #namespace: BusNamespace;
  readonly #bus: string;
  #deploymentId: string | undefined;
  readonly #shards = new Map<string, ShardAddress>();
  readonly #keys = new ObjectKeyCache();
  readonly #responder: OperatorResponder | undefined;

  /** @param responder - replies to questions of operators; undefined: none are asked. */
  constructor(
    namespace: BusNamespace,
    bus: string,
    waitUntil: (what: Promise<void>) => void,
    responder?: OperatorResponder,
  ) {
    this.waitUntil = waitUntil;
    this.#namespace = namespace;
    this.#bus = bus;
    this.#responder = responder;
  }

  /** Replies to a frame that is a question of an operator; returns false for every other frame. */
  respondsTo(frame: string | ArrayBuffer, reply: (frame: string) => void): boolean {
    return typeof frame === 'string' && this.#responder?.(frame, reply) === true;
  }

  /**
   * Opens a socket for a client on this continent, which is empty if unknown. Does not retry once
   * `isWanted` returns false: no stream would use the socket.
   *
   * @throws what a stub throws, and ListenError `bus-unavailable`.
   */
  async open(continent: string, isWanted: () => boolean): Promise<OpenedSocket> {
    let full: ShardAddress | undefined;
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      const shard =
        this.#shards.get(continent) ?? (await this.#connectToRoot(continent, isWanted, full));
      if ('socket' in shard) return shard;
      const stub = () => shardStub(this.#namespace, shard, continent);
      const response = await this.#fetch(shardName(shard), whileWanted(stub, isWanted), continent);
      if (response.status !== GONE) return { socket: socketOf(response), shard };
      this.forget(continent, shard);
      full = shard;
    }
    throw new ListenError('bus-unavailable', 'no shard of the bus accepted the stream');
  }

  /** Returns the key of the bus object, see {@link ObjectKeyCache.key}. */
  key(): Promise<string> {
    return this.#keys.key(this.#bus, () => this.#root());
  }

  /**
   * Returns the key of the bus object after it may have changed, see {@link
   * ObjectKeyCache.newerKey}.
   */
  newerKey(): Promise<string | undefined> {
    return this.#keys.newerKey(this.#bus, () => this.#root());
  }

  /** Forgets a shard that accepts no more streams, so that the next stream asks the bus object. */
  forget(continent: string, address: ShardAddress): void {
    if (this.#shards.get(continent)?.shard === address.shard) this.#shards.delete(continent);
    this.#keys.forget(shardName(address));
  }

  /** Asks the bus object, which accepts the stream or names a shard. */
  async #connectToRoot(
    continent: string,
    isWanted: () => boolean,
    full?: ShardAddress,
  ): Promise<OpenedSocket | ShardAddress> {
    const response = await this.#fetch(
      this.#bus,
      whileWanted(() => this.#root(), isWanted),
      continent,
      full,
    );
    const shard =
      response.status === MISDIRECTED
        ? shardAddress(response.headers.get(SHARD_HEADER) ?? '')
        : undefined;
    if (shard === undefined) return { socket: socketOf(response), shard };
    this.#shards.set(continent, shard);
    return shard;
  }

  get #deployment(): string {
    this.#deploymentId ??= deployment();
    return this.#deploymentId;
  }

  #root(): SocketStub {
    return busStub(this.#namespace, this.#bus);
  }

  #fetch(
    name: string,
    stub: () => SocketStub,
    continent: string,
    full?: ShardAddress,
  ): Promise<Response> {
    const headers: Record<string, string> = { upgrade: 'websocket', [WIRE_HEADER]: WIRE };
    headers[DEPLOYMENT_HEADER] = this.#deployment;
    if (this.#responder !== undefined) headers[ISOLATE_HEADER] = isolateId();
    if (continent !== '') headers[CONTINENT_HEADER] = continent;
    if (full !== undefined) headers[FULL_HEADER] = shardName(full);
    return this.#keys.withKey(name, stub, (key) => {
      const keyed = { ...headers, [KEY_HEADER]: key };
      return retrying(MAX_CONNECT_ATTEMPTS, () => stub().fetch(BUS_URL, { headers: keyed }));
    });
  }
}

/** Returns stubs while the socket is wanted, and throws after that. */
function whileWanted(stub: () => SocketStub, isWanted: () => boolean): () => SocketStub {
  return () => {
    if (isWanted()) return stub();
    throw new ListenError('bus-unavailable', 'the stream ended before the socket was opened');
  };
}

function socketOf({ status, webSocket }: Response): WebSocket {
  if (webSocket) return webSocket;
  throw new ListenError(
    'bus-unavailable',
    `the bus responded with status ${status} instead of a socket`,
  );
}

const MISDIRECTED = 421;
const GONE = 410;
/** Objects to try for one socket: a shard may fill up while an edge connects to it. */
const MAX_HOPS = 4;
/** The stub addresses the object; the host of this URL is not used. */
const BUS_URL = 'https://mcp-listen.internal/attach';
