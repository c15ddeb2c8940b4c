import { calling } from '../../model/error.js';
import type { BusStats } from '../../model/stats/bus.js';
import { report } from '../../observe/on-error.js';
import { DeadlineTimer } from '../../timing/deadline-timer.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import { Bus, type BusOutput } from '../../wasm/server/bindings.js';
import { CODE_OF, NORMAL, TRY_AGAIN_LATER } from '../wire/close-codes.js';
import type { ShardAddress } from '../wire/names.js';
import { outcomeOf } from '../wire/retry.js';
import { type BusNamespace, type BusStub, busStub } from '../wire/stubs.js';
import { EdgeSockets } from './edge-sockets.js';
import { edgesPerShard, namesBytes, type SubscriptionBusOptions, shardCloseMs } from './options.js';
import { ownNamespace } from './own-namespace.js';
import { SocketAttachments } from './socket-attachments.js';
import { ShardState } from './tables/shard-state.js';

/**
 * A shard: an object that holds a part of the streams of a bus. It follows the root and has no log.
 */
export class ShardBus {
  readonly #ctx: DurableObjectState;
  readonly #address: ShardAddress;
  readonly #namespace: BusNamespace | undefined;
  readonly #perShard: number;
  readonly #attachments: SocketAttachments;
  readonly #state: ShardState;
  readonly #shard: Bus;
  readonly #edges: EdgeSockets;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  /** Set while batches arrive: the position is stored once for all of them. */
  #burst: ReturnType<typeof setTimeout> | undefined;
  /** Pending calls of the root about sessions. */
  readonly #tickets = new Map<number, Deferred<void>>();
  #nextTicket = 0;
  #dropped = 0;
  #isDeleted = false;

  constructor(
    ctx: DurableObjectState,
    env: unknown,
    address: ShardAddress,
    options: SubscriptionBusOptions,
  ) {
    this.#ctx = ctx;
    this.#address = address;
    this.#namespace = ownNamespace(ctx, env);
    this.#perShard = edgesPerShard(options);
    this.#attachments = new SocketAttachments(ctx.storage.sql);
    this.#state = new ShardState(ctx.storage.sql);
    const sockets = ctx.getWebSockets();
    const { epoch, position, seq } = this.#state;
    // Sockets survive only hibernation, before which the position was stored.
    const isWoken = sockets.length > 0 && epoch !== '';
    const [known, span] = [isWoken ? epoch : undefined, shardCloseMs(options)];
    this.#shard = Bus.shard(seq, known, position, span, namesBytes(options), this.#perShard);
    this.#edges = new EdgeSockets(this.#shard, () => performance.now(), this.#attachments);
    this.#attachments.prune(sockets);
    for (const socket of sockets) this.#restore(socket);
  }

  /** Accepts the socket of an edge, with these tags; returns 410 if the shard is full or closed. */
  accept(_request: Request, tags: string[]): Response {
    const isOpen = this.#namespace !== undefined && !this.#shard.state().isRetired;
    if (!isOpen || this.#edges.size >= this.#perShard) return new Response(null, { status: 410 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server, tags);
    this.#edges.add(server, this.#shard.connect(undefined, undefined, 0));
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Attached streams and shared sockets. */
  get attached(): number {
    return this.#shard.state().attached;
  }

  /** Returns the counters of this shard. */
  stats(): BusStats {
    const { attached, position = 0 } = this.#shard.state();
    const sockets = this.#ctx.getWebSockets().length;
    return { attached, sockets, position, sessions: 0, dropped: this.#dropped, shards: [] };
  }

  /**
   * Handles a batch of events from the root; returns the reply once the events were sent to the
   * edges.
   */
  deliver(batch: string): string {
    const reply = calling(() => this.#shard.called(0, batch, performance.now()));
    this.#burst ??= setTimeout(this.#endBurst, BURST_MS);
    this.#flush();
    return reply;
  }

  /** Handles a call of the root about a session; resolves once the call is done. */
  async notifySession(call: string): Promise<void> {
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    const done = deferred();
    this.#tickets.set(ticket, done);
    try {
      calling(() => this.#shard.session(ticket, call));
      this.#flush();
      await done.promise;
    } finally {
      this.#tickets.delete(ticket);
    }
  }

  /** Handles a frame of an edge. */
  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.edge(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#shard.receive(edge, frame, performance.now());
    if (received.kind === 'followed') this.#edges.store(socket, edge, received);
    else if (received.kind === 'detached') this.#edges.close(socket, NORMAL);
    else this.#dropped += 1;
    this.#flush();
  }

  /** Handles the close of an edge's socket. */
  closed(socket: WebSocket): void {
    this.#edges.close(socket, NORMAL);
    this.#flush();
  }

  /**
   * Restores a socket. If the position of the shard is unknown, closes it, so that its edge
   * reconnects.
   */
  #restore(socket: WebSocket): void {
    const isLost = this.#state.epoch === '' && this.#attachments.get(socket) !== undefined;
    if (isLost) socket.close(TRY_AGAIN_LATER);
    else this.#edges.restore(socket);
  }

  #tick(): void {
    this.#flush(Math.random());
  }

  /**
   * Carries out the pending outputs of the core; with a `random` from [0, 1), after its deadline
   * has come.
   */
  #flush(random?: number): void {
    const next = (due?: number): BusOutput | undefined =>
      this.#shard.output(performance.now(), 0, due);
    for (let output = next(random); output !== undefined; output = next())
      this.#handleOutput(output);
    if (this.#burst === undefined) this.#persist();
    const { deadline, isRetired } = this.#shard.state();
    this.#timer.set(deadline);
    if (isRetired) this.#deleteStorage();
  }

  #handleOutput(output: BusOutput): void {
    if (output.kind === 'done') this.#tickets.get(output.call)?.resolve();
    else if (output.kind === 'follow') void this.#call(output);
    else if (output.kind === 'send') {
      for (const edge of output.edges) this.#edges.send(edge, output.text);
    } else if (output.kind === 'close' || output.kind === 'keep') {
      const socket = this.#edges.socket(output.edge);
      if (socket !== undefined) this.#handleEdgeOutput(socket, output);
    }
  }

  #handleEdgeOutput(
    socket: WebSocket,
    output: Extract<BusOutput, { kind: 'close' | 'keep' }>,
  ): void {
    if (output.kind === 'close') this.#edges.close(socket, CODE_OF[output.reason]);
    else {
      const { change, edge } = output;
      const session = this.#attachments.session(socket);
      this.#edges.store(socket, edge, { keepsAll: change === undefined, change, session });
    }
  }

  /** Calls the root. The core decides when to repeat a call that fails. */
  async #call({ call, text }: Extract<BusOutput, { kind: 'follow' }>): Promise<void> {
    // The runtime sends the call only after this is on disk.
    this.#state.count(call);
    const { isBusy, reply } = await outcomeOf(() => this.#root().follow(this.#address.shard, text));
    this.#shard.responded(0, call, reply, isBusy, performance.now(), Math.random());
    this.#flush();
  }

  /** Returns a fresh stub for each call, because a stub that failed once may keep failing. */
  #root(): BusStub {
    if (this.#namespace === undefined) throw new Error('the namespace of the root is unknown');
    return busStub(this.#namespace, this.#address.bus);
  }

  /**
   * Ends a burst. It may run late: an object with a timer does not hibernate, and one that is reset
   * has no sockets.
   */
  readonly #endBurst = (): void => {
    this.#burst = undefined;
    this.#persist();
  };

  /**
   * Stores the last sent positions of the edges and the position of this shard, which are needed
   * after hibernation.
   */
  #persist(): void {
    this.#edges.flushAttachments();
    const { epoch, position } = this.#shard.state();
    if (epoch !== undefined && position !== undefined && !this.#isDeleted)
      this.#state.setPosition(epoch, position);
  }

  /** Deletes the storage of a closed shard, which is not needed again. */
  #deleteStorage(): void {
    if (this.#isDeleted) return;
    this.#isDeleted = true;
    this.#edges.handleDeletion();
    this.#ctx.storage.deleteAll().catch(report);
  }
}

/**
 * Milliseconds from a batch until its changes and those of the batches after it are stored. The
 * object is billed for this time after each single publish; a smaller value writes more rows during
 * a burst of publishes.
 */
const BURST_MS = 50;
