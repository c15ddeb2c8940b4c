import { ListenError } from '../../model/error.js';
import { type ShardAddress, shardAddress, shardName } from '../wire/names.js';
import { retrying } from '../wire/retry.js';
import { objectOf } from '../wire/stubs.js';
import {
  BUS_HEADER,
  CONTINENT_HEADER,
  DEPLOYMENT_HEADER,
  FULL_HEADER,
  KEY_HEADER,
  SHARD_HEADER,
  WIRE,
} from '../wire/upgrade.js';
import { deployment } from './deployment.js';
import { ATTEMPTS, ObjectKeyCache, type SocketStub } from './object-keys.js';

/** A socket, and where it leads. */
export interface OpenedSocket {
  socket: WebSocket;
  /** Undefined: to the bus object itself. */
  shard: ShardAddress | undefined;
}

/**
 * The ways to a bus from one isolate: through the bus object, which sends edges on to a shard, and straight to the
 * shard that an edge of the same continent was sent to before. Each object opens to its key, which is asked for once.
 */
export class BusConnector {
  /** Keeps the request alive that asks, also after it was cancelled: for half a minute then. */
  readonly waitUntil: (what: Promise<void>) => void;
  readonly #namespace: DurableObjectNamespace;
  readonly #bus: string;
  #deploymentId: string | undefined;
  readonly #shards = new Map<string, ShardAddress>();
  readonly #keys = new ObjectKeyCache();

  constructor(
    namespace: DurableObjectNamespace,
    bus: string,
    waitUntil: (what: Promise<void>) => void,
  ) {
    this.waitUntil = waitUntil;
    this.#namespace = namespace;
    this.#bus = bus;
  }

  /**
   * Opens a socket for a client on this continent; empty where that is not known. A call that fails long after its
   * socket was given up is not made again: it would open one for nobody.
   *
   * @throws what a stub throws, and ListenError `bus-unavailable`.
   */
  async open(continent: string, isWanted: () => boolean): Promise<OpenedSocket> {
    let full: ShardAddress | undefined;
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      const shard = this.#shards.get(continent) ?? (await this.#ask(continent, isWanted, full));
      if ('socket' in shard) return shard;
      const stub = () => objectOf<SocketStub>(this.#namespace, shard, continent);
      const response = await this.#fetch(shardName(shard), wanted(stub, isWanted), continent);
      if (response.status !== GONE) return { socket: socketOf(response), shard };
      this.forget(continent, shard);
      full = shard;
    }
    throw new ListenError('bus-unavailable', 'no shard of the bus took the stream');
  }

  /** The key of the bus object, see {@link ObjectKeyCache.key}. */
  key(): Promise<string> {
    return this.#keys.key(this.#bus, () => this.#root());
  }

  /** The same where it may be another one by now, see {@link ObjectKeyCache.newerKey}. */
  newerKey(): Promise<string | undefined> {
    return this.#keys.newerKey(this.#bus, () => this.#root());
  }

  /** A shard takes no more streams: the next one asks the bus object. */
  forget(continent: string, address: ShardAddress): void {
    if (this.#shards.get(continent)?.shard === address.shard) this.#shards.delete(continent);
    this.#keys.forget(shardName(address));
  }

  /** Asks the bus object, which takes the stream itself or says where to go. */
  async #ask(
    continent: string,
    isWanted: () => boolean,
    full?: ShardAddress,
  ): Promise<OpenedSocket | ShardAddress> {
    const response = await this.#fetch(
      this.#bus,
      wanted(() => this.#root(), isWanted),
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
    return this.#namespace.getByName(this.#bus) as unknown as SocketStub;
  }

  #fetch(
    name: string,
    stub: () => SocketStub,
    continent: string,
    full?: ShardAddress,
  ): Promise<Response> {
    const headers: Record<string, string> = { upgrade: 'websocket', [BUS_HEADER]: WIRE };
    headers[DEPLOYMENT_HEADER] = this.#deployment;
    if (continent !== '') headers[CONTINENT_HEADER] = continent;
    if (full !== undefined) headers[FULL_HEADER] = shardName(full);
    return this.#keys.using(name, stub, (key) => {
      const keyed = { ...headers, [KEY_HEADER]: key };
      return retrying(ATTEMPTS, () => stub().fetch(BUS_URL, { headers: keyed }));
    });
  }
}

/** The stub, as long as somebody waits for its socket. */
function wanted(stub: () => SocketStub, isWanted: () => boolean): () => SocketStub {
  return () => {
    if (isWanted()) return stub();
    throw new ListenError('bus-unavailable', 'the socket was given up');
  };
}

function socketOf({ status, webSocket }: Response): WebSocket {
  if (webSocket) return webSocket;
  throw new ListenError('bus-unavailable', `the bus answered ${status} instead of a socket`);
}

const MISDIRECTED = 421;
const GONE = 410;
/** A shard may fill up while an edge is on its way there. */
const MAX_HOPS = 4;
/** Objects are addressed by their stub; the URL is a formality. */
const BUS_URL = 'https://mcp-listen.internal/attach';
