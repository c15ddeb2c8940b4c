import { DurableObject } from 'cloudflare:workers';
import { fromCore } from '../error.js';
import { Hub } from '../wasm.js';
import { BUS_HEADER } from './bus-header.js';
import { EventLog } from './event-log.js';
import { Interests } from './interests.js';

/** What a bus is doing. */
export interface BusStats {
  /** Streams attached. */
  attached: number;
  /** Sockets open, attached or not. */
  sockets: number;
  /** Events published since the log began. */
  position: number;
  /** Frames from edges that had to be dropped since the object was last woken. */
  dropped: number;
}

/**
 * The bus as a Durable Object: give it a binding and a `new_sqlite_classes` migration, and export
 * it from the Worker. It logs each event in SQLite, sends it to the sockets of the streams that want it,
 * and hibernates between events.
 */
export class SubscriptionBus<Env = unknown> extends DurableObject<Env> {
  readonly #log: EventLog;
  readonly #interests: Interests;
  readonly #hub: Hub;
  readonly #sockets = new Map<number, WebSocket>();
  readonly #edges = new Map<WebSocket, number>();
  #dropped = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#log = new EventLog(ctx.storage.sql);
    this.#interests = new Interests(ctx.storage.sql);
    this.#hub = new Hub(this.#log.epoch, this.#log.position);
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
    this.#enter(server, this.#hub.connect());
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * Publishes one event, given as JSON text. Resolves with its position once it is on disk:
   * the runtime holds the answer, and every frame, back until then.
   *
   * @throws ListenError `malformed-event`, `unknown-event-kind`, `invalid-uri` or `invalid-task`.
   */
  publish(event: string): number {
    const { edges, message, position } = this.#publication(event);
    this.#log.append(position, event);
    for (const edge of edges) this.#send(edge, message);
    return position;
  }

  /** What this bus is doing. */
  stats(): BusStats {
    const { attached } = this.#hub;
    const { position } = this.#log;
    return { attached, sockets: this.ctx.getWebSockets().length, position, dropped: this.#dropped };
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    const edge = this.#edges.get(socket);
    if (edge === undefined || typeof frame !== 'string') {
      this.#dropped += 1;
      return;
    }
    const received = this.#hub.receive(edge, frame);
    const { answer, dropped, interest, isDetached } = received;
    received.free();
    if (dropped !== undefined) this.#dropped += 1;
    if (interest !== undefined) this.#interests.put(socket, interest);
    if (answer !== undefined) this.#send(edge, answer);
    if (isDetached) this.#leave(socket);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#leave(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#leave(socket);
  }

  #publication(event: string): { edges: Uint32Array; message: string; position: number } {
    try {
      const publication = this.#hub.publish(event);
      const { edges, message, position } = publication;
      publication.free();
      return { edges, message, position };
    } catch (error) {
      throw fromCore(error);
    }
  }

  /** What cannot be restored is closed, so that its stream ends and its client comes back: it must not stay and hear nothing. */
  #restore(socket: WebSocket): void {
    try {
      const interest = this.#interests.get(socket);
      this.#enter(socket, interest === undefined ? this.#hub.connect() : this.#hub.restore(interest));
    } catch {
      socket.close(TRY_AGAIN_LATER);
    }
  }

  #enter(socket: WebSocket, edge: number): void {
    this.#sockets.set(edge, socket);
    this.#edges.set(socket, edge);
  }

  #send(edge: number, frame: string): void {
    const socket = this.#sockets.get(edge);
    if (socket === undefined) return;
    try {
      socket.send(frame);
    } catch {
      // The socket died before its close was told: its edge will notice too, and come back.
      this.#leave(socket);
    }
  }

  #leave(socket: WebSocket): void {
    const edge = this.#edges.get(socket);
    if (edge === undefined) return;
    this.#edges.delete(socket);
    this.#sockets.delete(edge);
    this.#hub.disconnect(edge);
    this.#interests.delete(socket);
    socket.close(NORMAL_CLOSURE);
  }
}

const NORMAL_CLOSURE = 1000;
const TRY_AGAIN_LATER = 1013;
