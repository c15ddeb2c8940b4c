import { DeadlineTimer } from '../deadline-timer.js';
import { type Deferred, deferred } from '../deferred.js';
import { calling } from '../error.js';
import { report } from '../report.js';
import { type FollowCall, type Parting, Shard, type ShardOutput } from '../wasm.js';
import { edgesPerShard, namesBytes, type SubscriptionBusOptions, shardCloseMs } from './bus-options.js';
import { FULL, MOVED, NORMAL, RELEASED, TRY_AGAIN_LATER } from './close-code.js';
import { EdgeSockets } from './edge-sockets.js';
import { Interests } from './interests.js';
import { ownNamespace } from './own-namespace.js';
import type { BusStats } from './root-bus.js';
import type { ShardAddress } from './shard-name.js';
import { ShardState } from './shard-state.js';
import type { RootStub } from './shard-stub.js';
import { isOverloaded } from './stub-error.js';

/** An object that holds a share of the streams of a bus: it follows the root, and has no log of its own. */
export class ShardBus {
  readonly #ctx: DurableObjectState;
  readonly #address: ShardAddress;
  readonly #namespace: DurableObjectNamespace | undefined;
  readonly #perShard: number;
  readonly #interests: Interests;
  readonly #state: ShardState;
  readonly #shard: Shard;
  readonly #edges: EdgeSockets;
  readonly #timer = new DeadlineTimer(() => this.#tick());
  /** Armed while batches come: how far they reach is written down once for all of them. */
  #burst: ReturnType<typeof setTimeout> | undefined;
  /** Calls of the root about sessions that wait for the shard. */
  readonly #tickets = new Map<number, Deferred<void>>();
  #nextTicket = 0;
  #dropped = 0;
  #isEmptied = false;

  constructor(ctx: DurableObjectState, env: unknown, address: ShardAddress, options: SubscriptionBusOptions) {
    this.#ctx = ctx;
    this.#address = address;
    this.#namespace = ownNamespace(ctx, env);
    this.#perShard = edgesPerShard(options);
    this.#interests = new Interests(ctx.storage.sql);
    this.#state = new ShardState(ctx.storage.sql);
    const sockets = ctx.getWebSockets();
    const { epoch, position, seq } = this.#state;
    // Sockets outlive hibernation only, before which the position was written down.
    const shard = sockets.length > 0 && epoch !== '' ? Shard.woken(seq, epoch, position) : new Shard(seq);
    this.#shard = shard.bounded(namesBytes(options), this.#perShard).patient(shardCloseMs(options));
    const ledger = {
      last: (edge: number) => this.#shard.last(edge),
      seq: (edge: number) => this.#shard.seq(edge),
      disconnect: (edge: number) => this.#shard.disconnect(edge, performance.now()),
    };
    this.#edges = new EdgeSockets(ledger, this.#interests);
    this.#interests.keepOnly(sockets);
    for (const socket of sockets) this.#restore(socket);
  }

  /** Accepts the socket of one edge and tags it, while there is room. */
  accept(_request: Request, tag: string): Response {
    const isOpen = this.#namespace !== undefined && !this.#shard.isRetired;
    if (!isOpen || this.#edges.size >= this.#perShard) return new Response(null, { status: 410 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server, [tag]);
    this.#edges.enter(server, this.#shard.connect());
    return new Response(null, { status: 101, webSocket: client });
  }

  /** What this shard is doing. */
  stats(): BusStats {
    const { attached } = this.#shard;
    const sockets = this.#ctx.getWebSockets().length;
    return { attached, sockets, position: this.#shard.position ?? 0, sessions: 0, dropped: this.#dropped, shards: [] };
  }

  /** The root sent a batch of events; answers once they are on their way to the edges. */
  deliver(batch: string): string {
    const answer = calling(() => this.#shard.batch(batch, performance.now()));
    this.#burst ??= setTimeout(this.#endBurst, BURST_MS);
    this.#flush();
    return answer;
  }

  /** The root says something about a session; resolves once that is done. */
  async tellSession(call: string): Promise<void> {
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

  /** A frame came from an edge. */
  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.edge(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#shard.receive(edge, frame, performance.now());
    if (received.kind === 'followed') this.#keep(socket, edge, received);
    else if (received.kind === 'detached') this.#leave(socket, NORMAL);
    else this.#dropped += 1;
    this.#flush();
  }

  /** The socket of an edge has closed. */
  closed(socket: WebSocket): void {
    this.#leave(socket, NORMAL);
    this.#flush();
  }

  /** What cannot be restored is closed, so that its edge comes back: it must not stay and hear nothing. */
  #restore(socket: WebSocket): void {
    try {
      const kept = this.#interests.get(socket);
      const isLost = kept !== undefined && this.#state.epoch === '';
      if (isLost) throw new Error('where the shard stood is not known');
      const edge = kept === undefined ? this.#shard.connect() : this.#restored(socket, kept);
      this.#edges.enter(socket, edge);
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  #restored(socket: WebSocket, kept: string[]): number {
    const { last, seq, session } = this.#interests.told(socket);
    return this.#shard.restore(kept, last, seq, session);
  }

  #tick(): void {
    this.#shard.timeout(performance.now(), Math.random());
    this.#flush();
  }

  /** Does what the core wants done. */
  #flush(): void {
    for (let output = this.#shard.output(); output !== undefined; output = this.#shard.output()) this.#do(output);
    const call = this.#shard.call(performance.now());
    if (call !== undefined) void this.#call(call);
    if (this.#burst === undefined) this.#settle();
    this.#timer.set(this.#shard.deadline);
    if (this.#shard.isRetired) this.#empty();
  }

  #do(output: ShardOutput): void {
    if (output.kind === 'done') this.#tickets.get(output.ticket)?.resolve();
    else if (output.kind === 'send') {
      for (const edge of output.edges) this.#send(edge, output.message);
    } else {
      const socket = this.#edges.socket(output.edge);
      if (socket !== undefined) this.#doTo(socket, output);
    }
  }

  #doTo(socket: WebSocket, output: Extract<ShardOutput, { edge: number }>): void {
    if (output.kind === 'close') this.#leave(socket, CODES[output.parting]);
    else this.#keep(socket, output.edge, { session: this.#interests.session(socket), ...output });
  }

  /** Keeps how what an edge follows has changed; all of it where no change is told. */
  #keep(socket: WebSocket, edge: number, { change, keepsAll = change === undefined, session }: Kept): void {
    const kept = (): string[] => this.#shard.kept(edge);
    if (keepsAll) this.#interests.put(socket, kept(), session);
    if (change !== undefined) this.#interests.change(socket, change, kept);
  }

  /** A call that fails is made again when the core says so. */
  async #call({ seq, text }: FollowCall): Promise<void> {
    // The runtime holds the call back until this is on disk.
    this.#state.count(seq);
    try {
      const answer = await this.#root().follow(this.#address.shard, text);
      this.#shard.answered(seq, answer, performance.now(), Math.random());
    } catch (error) {
      this.#shard.failed(seq, isOverloaded(error), performance.now(), Math.random());
    }
    this.#flush();
  }

  /** A fresh stub for each call: one that has failed once may go on failing. */
  #root(): RootStub {
    if (this.#namespace === undefined) throw new Error('there is no way to the root');
    return this.#namespace.getByName(this.#address.bus) as unknown as RootStub;
  }

  /** Ends a burst: an object with a timer does not hibernate, and one that is reset has no sockets. */
  readonly #endBurst = (): void => {
    this.#burst = undefined;
    this.#settle();
  };

  /** Writes down what edges were sent last, and how far this shard has come: both are needed after hibernation. */
  #settle(): void {
    this.#edges.settle();
    const { epoch, position } = this.#shard;
    if (epoch !== undefined && position !== undefined && !this.#isEmptied) this.#state.reach(epoch, position);
  }

  /** A shard that is closed is not needed again, and leaves nothing behind. */
  #empty(): void {
    if (this.#isEmptied) return;
    this.#isEmptied = true;
    this.#ctx.storage.deleteAll().catch(report);
  }

  /** Where the socket has died, its edge will notice too, and come back. */
  #send(edge: number, frame: string): void {
    const socket = this.#edges.socket(edge);
    if (socket !== undefined && !this.#edges.send(edge, frame)) this.#leave(socket, TRY_AGAIN_LATER);
  }

  #leave(socket: WebSocket, code: number): void {
    if (!this.#edges.leave(socket)) return;
    if (!this.#isEmptied) this.#interests.delete(socket);
    socket.close(code);
  }
}

/**
 * Milliseconds from a batch until what it and those after it have changed is written down. The object is charged for
 * them after each single publish; the shorter they are, the more rows a storm of publishes writes.
 */
const BURST_MS = 50;

const CODES: Record<Parting, number> = { moved: MOVED, over: RELEASED, full: FULL, lost: TRY_AGAIN_LATER };

/** What has to be kept of an edge. */
interface Kept {
  keepsAll?: boolean;
  change?: string | undefined;
  session: string | undefined;
}
