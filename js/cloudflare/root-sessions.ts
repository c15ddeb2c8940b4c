import { claimOf, claimText } from '../legacy/session-claim.js';
import { newSessionId } from '../legacy/session-id.js';
import { surplus } from '../legacy/session-room.js';
import type { NewSession, SessionLimits, SessionState, UriLimit } from '../legacy/session-store.js';
import { report } from '../report.js';
import { type Bus, type Following, sessionChanged, sessionReleased } from '../wasm.js';
import type { AlarmClock } from './alarm-clock.js';
import type { BusKey } from './bus-key.js';
import { RELEASED } from './close-code.js';
import type { EdgeSockets } from './edge-sockets.js';
import type { Interests } from './interests.js';
import type { RootShards } from './root-shards.js';
import { macedId } from './session-mac.js';
import { SessionTable } from './session-table.js';

/** What the sessions of a root need of it. */
export interface SessionHost {
  sql: SqlStorage;
  alarm: AlarmClock;
  core: Bus;
  /** The name of the bus. */
  bus: string;
  /** The key of the bus object. */
  key: BusKey;
  edges: EdgeSockets;
  interests: Interests;
  /** Undefined where there can be no shards. */
  shards: RootShards | undefined;
  send(edge: number, frame: string): void;
  leave(socket: WebSocket, code: number): void;
}

/** The sessions of a bus, and where the stream of each one is: at the root, or at one of its shards. */
export class RootSessions {
  readonly #host: SessionHost;
  readonly #table: SessionTable;
  /** The socket of each session that has its stream here. */
  readonly #streams = new Map<string, WebSocket>();

  constructor(host: SessionHost) {
    this.#host = host;
    this.#table = new SessionTable(host.sql);
  }

  /** How many sessions are held. */
  get count(): number {
    return this.#table.room.sessions;
  }

  /** When the next session will have idled for too long; undefined where there is none. */
  get nextEnd(): number | undefined {
    return this.#table.nextEnd;
  }

  /** Begins a session and resolves with its id; with undefined where there is no room. */
  async create(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const { bus, key } = this.#host;
    const id = await macedId(key.issue(), bus, newSessionId());
    if (!this.#makeRoom(session, limits)) return undefined;
    this.#table.create(id, session, this.#host.core.place);
    await this.#host.alarm.wakeBy(Date.now() + session.idleMs);
    return id;
  }

  /** The session, which counts as used now, unless it is unknown, over, or another principal's. */
  find(id: string, principal: string | undefined): SessionState | undefined {
    const session = this.#table.find(id, principal);
    const isStreaming = this.#isStreaming(id);
    if (session === undefined || (!isStreaming && this.#table.isIdle(id))) return undefined;
    this.#table.touch(id);
    return { ...session, isStreaming };
  }

  /** The client of a session has said that it is ready; its stream goes on. */
  async initialized(id: string): Promise<void> {
    if (this.#table.release(id)) await this.#tell(id);
  }

  /** The resources that a session watches. */
  watched(id: string): string[] {
    return this.#table.uris(id);
  }

  /** Watches a resource, unless that would exceed a limit: resolves with which one. */
  async watch(id: string, uri: string, limits: SessionLimits): Promise<UriLimit | undefined> {
    const excess = this.#table.watch(id, uri, limits);
    if (excess === undefined) await this.#tell(id);
    return excess;
  }

  /** Watches a resource no longer. */
  async unwatch(id: string, uri: string): Promise<void> {
    this.#table.unwatch(id, uri);
    await this.#tell(id);
  }

  /** Ends a session and its stream. */
  async end(id: string): Promise<void> {
    const shard = this.#table.shard(id);
    if (shard !== undefined) await this.#host.shards?.tellSession(shard, sessionReleased(this.#claim(id)));
    this.#table.end(id);
    this.#leaveHere(id);
  }

  /** Ends the sessions that have idled for too long. */
  endIdle(): void {
    for (const id of this.#table.idle()) {
      if (this.#isStreaming(id)) this.#table.touch(id);
      else this.#table.end(id);
    }
  }

  /** A socket that attached with this claim came back from hibernation. */
  restore(claim: string, socket: WebSocket, edge: number): void {
    const { id } = claimOf(claim);
    this.#streams.set(id, socket);
    this.#host.core.watch(edge, this.#table.uris(id), this.#table.isHeld(id));
  }

  /**
   * The stream of a session is here now, in place of an earlier one, and is told what the session watches; answers
   * false where the session is over, or belongs to another principal than claimed.
   */
  takeOver(claim: string, socket: WebSocket): boolean {
    const { leave } = this.#host;
    const id = this.#owned(claim);
    if (id === undefined) {
      leave(socket, RELEASED);
      return false;
    }
    const former = this.#streams.get(id);
    if (former !== undefined && former !== socket) leave(former, RELEASED);
    const shard = this.#table.shard(id);
    if (shard !== undefined) this.#release(shard, id);
    this.#table.settle(id, undefined);
    this.#streams.set(id, socket);
    this.#host.core.pushWatch(claim, this.#table.uris(id), this.#table.isHeld(id));
    return true;
  }

  /** A socket has gone. */
  leave(socket: WebSocket): void {
    const claim = this.#host.interests.session(socket);
    const id = claim === undefined ? undefined : claimOf(claim).id;
    if (id === undefined || this.#streams.get(id) !== socket) return;
    this.#streams.delete(id);
    this.#table.touch(id);
  }

  /** What a shard tells of the streams of sessions; it is told what they watch. */
  join(shard: number, { isFresh, joined, left }: Following): void {
    if (isFresh) this.forget(shard);
    for (const claim of left) {
      const id = this.#owned(claim);
      if (id === undefined || this.#table.shard(id) !== shard) continue;
      this.#table.settle(id, undefined);
      this.#table.touch(id);
    }
    for (const claim of joined) {
      const id = this.#owned(claim);
      if (id === undefined) continue;
      const former = this.#table.shard(id);
      if (former !== undefined && former !== shard) this.#release(former, id);
      this.#leaveHere(id);
      this.#table.settle(id, shard);
      this.#host.core.pushWatch(claim, this.#table.uris(id), this.#table.isHeld(id));
    }
  }

  /** A shard holds no streams any more. */
  forget(shard: number): void {
    this.#table.unsettle(shard);
  }

  /** Makes room for one more session of a caller, at its own expense alone. */
  #makeRoom(session: NewSession, limits: SessionLimits): boolean {
    const own = this.#table.ofCaller(session)?.map((each) => ({ ...each, isStreaming: this.#isStreaming(each.id) }));
    if (own !== undefined) {
      if (limits.sessionsPerPrincipal < 1) return false;
      for (const id of surplus(own, limits.sessionsPerPrincipal)) this.#evict(id);
    }
    const isNamed = session.principal !== undefined;
    if (!this.#table.room.hasRoom(isNamed, limits)) this.endIdle();
    return this.#table.room.hasRoom(isNamed, limits);
  }

  /** Ends a session within this turn, so that no other request counts it once more. */
  #evict(id: string): void {
    const shard = this.#table.shard(id);
    if (shard !== undefined) this.#release(shard, id);
    this.#table.end(id);
    this.#leaveHere(id);
  }

  /** The session that a claim names; undefined: it is over, or another principal's. */
  #owned(claim: string): string | undefined {
    const { id, principal } = claimOf(claim);
    return this.#table.find(id, principal) && id;
  }

  /** What the stream of a session has claimed, by which a shard knows it. */
  #claim(id: string): string {
    return claimText({ id, principal: this.#table.principal(id) });
  }

  #isStreaming(id: string): boolean {
    return this.#streams.has(id) || this.#table.shard(id) !== undefined;
  }

  /** The stream follows what the session watches, and whether its client is ready. */
  async #tell(id: string): Promise<void> {
    this.#follow(id);
    const shard = this.#table.shard(id);
    if (shard !== undefined) await this.#host.shards?.tellSession(shard, sessionChanged(this.#claim(id)));
  }

  #follow(id: string): void {
    const { core, edges, send } = this.#host;
    const socket = this.#streams.get(id);
    const edge = socket === undefined ? undefined : edges.edge(socket);
    if (edge === undefined) return;
    const frame = core.watch(edge, this.#table.uris(id), this.#table.isHeld(id));
    if (frame !== undefined) send(edge, frame);
  }

  #leaveHere(id: string): void {
    const socket = this.#streams.get(id);
    if (socket !== undefined) this.#host.leave(socket, RELEASED);
  }

  /** Where this fails, a stream stays open that its client has given up. */
  #release(shard: number, id: string): void {
    this.#host.shards?.tellSession(shard, sessionReleased(this.#claim(id))).catch(report);
  }
}
