import { DurableObject } from 'cloudflare:workers';
import type { LogOptions } from '../bus/log-options.js';
import { calling } from '../error.js';
import type { NewSession, SessionState } from '../legacy/session-store.js';
import { Hub, normalizeEvent, type Received } from '../wasm.js';
import { BUS_HEADER } from './bus-header.js';
import { NORMAL, RELEASED, TRY_AGAIN_LATER } from './close-code.js';
import { EdgeSockets } from './edge-sockets.js';
import { EventLog } from './event-log.js';
import { Interests } from './interests.js';
import { SessionTable } from './session-table.js';

/** How a {@link SubscriptionBus} works. */
export interface SubscriptionBusOptions extends LogOptions {}

/** What a bus is doing. */
export interface BusStats {
  /** Streams attached. */
  attached: number;
  /** Sockets open, attached or not. */
  sockets: number;
  /** Events published since the log began. */
  position: number;
  /** Sessions of clients of earlier revisions. */
  sessions: number;
  /** Frames from edges that had to be dropped since the object was last woken. */
  dropped: number;
}

/**
 * The bus as a Durable Object: give it a binding and a `new_sqlite_classes` migration, and export
 * it from the Worker. It logs each event in SQLite, sends it to the sockets of the streams that want it,
 * and hibernates between events.
 */
export class SubscriptionBus<Env = unknown> extends DurableObject<Env> {
  /** Options for every bus of this class: override it in a class of your own. */
  static options: SubscriptionBusOptions = {};
  readonly #log: EventLog;
  readonly #interests: Interests;
  readonly #sessions: SessionTable;
  readonly #hub: Hub;
  readonly #edges: EdgeSockets;
  /** The socket of each session that has a stream. */
  readonly #streams = new Map<string, WebSocket>();
  #dropped = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#log = new EventLog(ctx.storage.sql, (new.target as typeof SubscriptionBus).options);
    this.#interests = new Interests(ctx.storage.sql);
    this.#sessions = new SessionTable(ctx.storage.sql);
    this.#hub = new Hub(this.#log.epoch, this.#log.position, this.#log.floor);
    this.#edges = new EdgeSockets(this.#hub, this.#interests);
    const sockets = ctx.getWebSockets();
    this.#interests.keepOnly(sockets);
    for (const socket of sockets) this.#restore(socket);
  }

  /** Takes the socket of one edge. */
  override fetch(request: Request): Response {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response(null, { status: 426, headers: { upgrade: 'websocket' } });
    }
    if (!request.headers.has(BUS_HEADER)) return new Response(null, { status: 403 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#edges.enter(server, this.#hub.connect());
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Publishes one event, given as JSON text. Resolves with its position once it is on disk:
   * the runtime holds the answer, and every frame, back until then.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publish(event: string): number {
    return this.publishAll([event]);
  }

  /**
   * Publishes events, each given as JSON text, in one transaction: all of them or none. Otherwise as
   * {@link SubscriptionBus.publish}; resolves with the position of the last one.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publishAll(events: string[]): number {
    // A lone event that is none is refused before anything has changed.
    if (events.length > 1) for (const event of events) calling(() => normalizeEvent(event));
    const deliveries = this.ctx.storage.transactionSync(() => events.map((event) => this.#append(event)));
    this.#hub.trimmed(this.#log.floor);
    for (const { edges, message } of deliveries.flat()) {
      for (const edge of edges) this.#send(edge, message);
    }
    return this.#log.position;
  }

  /** What this bus is doing. */
  stats(): BusStats {
    const { attached } = this.#hub;
    const { position } = this.#log;
    const sockets = this.ctx.getWebSockets().length;
    return { attached, sockets, position, sessions: this.#sessions.count, dropped: this.#dropped };
  }

  /** Begins a session; answers false where there are `limit` of them already. */
  async createSession(session: NewSession, limit: number): Promise<boolean> {
    if (this.#sessions.count >= limit) this.#endIdle();
    if (this.#sessions.count >= limit) return false;
    this.#sessions.create(session, this.#hub.place);
    await this.#wakeBy(Date.now() + session.idleMs);
    return true;
  }

  /** The session, which counts as used now, unless it is unknown, over, or another principal's. */
  findSession(id: string, principal: string | undefined): SessionState | undefined {
    const session = this.#sessions.find(id, principal);
    const isStreaming = this.#streams.has(id);
    if (session === undefined || (!isStreaming && this.#sessions.isIdle(id))) return undefined;
    this.#sessions.touch(id);
    return { ...session, isStreaming };
  }

  /** The client of a session has said that it is ready; its stream goes on. */
  initializeSession(id: string): void {
    if (this.#sessions.release(id)) this.#followSession(id);
  }

  /** The resources that a session watches. */
  watchedInSession(id: string): string[] {
    return this.#sessions.uris(id);
  }

  /** Watches a resource in a session; answers false where it watches `limit` of them already. */
  watchInSession(id: string, uri: string, limit: number): boolean {
    const uris = this.#sessions.uris(id);
    if (uris.includes(uri)) return true;
    if (uris.length >= limit) return false;
    this.#sessions.watch(id, uri);
    this.#followSession(id);
    return true;
  }

  /** Watches a resource in a session no longer. */
  unwatchInSession(id: string, uri: string): void {
    this.#sessions.unwatch(id, uri);
    this.#followSession(id);
  }

  /** Ends a session and its stream. */
  endSession(id: string): void {
    this.#sessions.end(id);
    const socket = this.#streams.get(id);
    if (socket !== undefined) this.#leave(socket, RELEASED);
  }

  /** Ends the sessions that have idled for too long. */
  override async alarm(): Promise<void> {
    this.#endIdle();
    const { nextEnd } = this.#sessions;
    if (nextEnd !== undefined) await this.#wakeBy(nextEnd);
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.edge(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#hub.receive(edge, frame);
    if (received.dropped !== undefined) this.#dropped += 1;
    this.#attach(socket, edge, received);
    if (received.isDetached) this.#leave(socket, NORMAL);
    received.free();
  }

  override webSocketClose(socket: WebSocket): void {
    this.#leave(socket, NORMAL);
  }

  override webSocketError(socket: WebSocket): void {
    this.#leave(socket, NORMAL);
  }

  /** Writes one event to the log, and answers with its frames and whom they go to. */
  #append(event: string): { edges: Uint32Array; message: string }[] {
    const publication = calling(() => this.#hub.publish(event));
    const { deliveries, position } = publication;
    this.#log.append(position, event);
    const frames = Array.from({ length: deliveries }, (_, number) => ({
      edges: publication.edges(number) ?? new Uint32Array(),
      message: publication.message(number) ?? '',
    }));
    publication.free();
    return frames;
  }

  /** What cannot be restored is closed, so that its edge comes back: it must not stay and hear nothing. */
  #restore(socket: WebSocket): void {
    try {
      const interest = this.#interests.get(socket);
      const last = this.#interests.last(socket);
      const edge = interest === undefined ? this.#hub.connect() : this.#hub.restore(interest, last);
      this.#edges.enter(socket, edge);
      this.#restoreSession(socket, edge);
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  #restoreSession(socket: WebSocket, edge: number): void {
    const session = this.#interests.session(socket);
    if (session === undefined) return;
    this.#streams.set(session, socket);
    this.#hub.watch(edge, this.#sessions.uris(session), this.#sessions.isHeld(session));
  }

  #attach(socket: WebSocket, edge: number, { answer, interest, replayAfter, session }: Received): void {
    if (interest === undefined || answer === undefined) return;
    this.#interests.put(socket, interest, session);
    if (session !== undefined && !this.#takeOver(session, socket)) return;
    this.#send(edge, answer);
    if (replayAfter !== undefined) this.#replay(edge, replayAfter);
  }

  /** The stream of a session hears what it watches before it hears that it is attached. */
  #takeOver(session: string, socket: WebSocket): boolean {
    if (!this.#sessions.has(session)) {
      this.#leave(socket, RELEASED);
      return false;
    }
    const former = this.#streams.get(session);
    if (former !== undefined && former !== socket) this.#leave(former, RELEASED);
    this.#streams.set(session, socket);
    this.#followSession(session);
    return true;
  }

  #replay(edge: number, position: number): void {
    const replay = this.#hub.replay(edge);
    if (replay === undefined) return;
    for (const { position: at, event } of this.#log.after(position)) replay.push(at, event);
    for (const frame of this.#hub.finishReplay(edge, replay)) this.#send(edge, frame);
  }

  /** The stream of a session follows what the session watches, and whether its client is ready. */
  #followSession(session: string): void {
    const edge = this.#edges.edge(this.#streams.get(session) as WebSocket);
    if (edge === undefined) return;
    const frame = this.#hub.watch(edge, this.#sessions.uris(session), this.#sessions.isHeld(session));
    if (frame !== undefined) this.#send(edge, frame);
  }

  #endIdle(): void {
    for (const id of this.#sessions.idle()) {
      if (this.#streams.has(id)) this.#sessions.touch(id);
      else this.#sessions.end(id);
    }
  }

  /** Sets the alarm, unless one comes before. */
  async #wakeBy(at: number): Promise<void> {
    const next = await this.ctx.storage.getAlarm();
    if (next === null || next > at) await this.ctx.storage.setAlarm(at);
  }

  /** Where the socket has died, its edge will notice too, and come back. */
  #send(edge: number, frame: string): void {
    const socket = this.#edges.socket(edge);
    if (socket !== undefined && !this.#edges.send(edge, frame)) this.#leave(socket, TRY_AGAIN_LATER);
  }

  #leave(socket: WebSocket, code: number): void {
    if (!this.#edges.leave(socket)) return;
    this.#leaveSession(socket);
    this.#interests.delete(socket);
    socket.close(code);
  }

  #leaveSession(socket: WebSocket): void {
    const session = this.#interests.session(socket);
    if (session === undefined || this.#streams.get(session) !== socket) return;
    this.#streams.delete(session);
    this.#sessions.touch(session);
  }
}
