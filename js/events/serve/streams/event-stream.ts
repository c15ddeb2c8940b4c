import type { ServerStream } from '../../../bus/server-stream.js';
import type { EndReason } from '../../../model/stats/listen.js';
import {
  type ChunkSink,
  NO_QUEUE,
  ResponseBody,
  type StreamBodies,
  sseResponse,
} from '../../../streams/index.js';
import { type Deferred, deferred } from '../../../timing/deferred.js';

/** Options of an {@link EventStream}. */
export interface EventStreamOptions {
  /** Called once when the stream has ended. */
  leave: () => void;
  /** Milliseconds within which a client must read pending output; 0 disables this. */
  writeMs: number;
}

/** The group of a stream, as the stream calls it. */
export interface EventStreamGroup {
  /** The bodies of its streams. */
  readonly bodies: StreamBodies;
  /** Handles a cue: the log may have something new. */
  cue(name: string): void;
  /** Writes a heartbeat. */
  beat(stream: EventStream): void;
  /** Reads pages for a stream that is behind, while its body has room. */
  catchUp(stream: EventStream): void;
  /** Removes a stream. `isDenied`: its caller may receive nothing any more, which it writes. */
  remove(stream: EventStream, isDenied: boolean): void;
  /** Handles the groups of a stream's caller, which may have changed. */
  regroup(stream: EventStream, groups: string[]): void;
}

/** A page of the log for one stream. */
export interface OwnPage {
  query: string;
  page: string;
  /** The match results of the server, if it decides. */
  results: string | undefined;
  /** How often the groups of the caller had changed when it was read. */
  groupChanges: number;
}

/**
 * One stream of events, and the source of its response body where any request may write to any
 * body. It receives the output of a listen stream, which signals new events, and writes what it
 * reads of the log to its response.
 */
export class EventStream {
  /** The name of the event type. */
  readonly name: string;
  /** Its number in its group. */
  id = -1;
  /** Whether it reads its own pages, because it had no room for one that was read for all. */
  isBehind = false;
  /** Whether it is reading a page. */
  isReading = false;
  /** How often renewed authorizations have changed the groups of its caller. */
  groupChanges = 0;
  /** Output from before the client reads the body. */
  first: Uint8Array | undefined;
  /** A page that was read while the authorization of its caller lapsed. */
  unsent: OwnPage | undefined;
  /** Whether it has ended, possibly before it has begun. */
  hasEnded = false;
  /** Whether its caller is authorized again while it is open. */
  isReauthorized = false;
  /** The stream that the bus feeds. */
  listen: ServerStream | undefined;
  /** Its group; undefined before it has begun and after it has ended. */
  group: EventStreamGroup | undefined;
  readonly #options: EventStreamOptions;
  /** Whether the listen stream was acknowledged. */
  #isAcknowledged = false;
  /** The body, while the client reads it. */
  #body: ChunkSink | ResponseBody | undefined;
  /** Since when the body has had no room; undefined if it has room. */
  #fullSince: number | undefined;
  /** Resolves once the caller may receive something, or the stream has ended. */
  #permission: Deferred<void> | undefined;

  constructor(name: string, options: EventStreamOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Returns the response, whose body begins with what was written so far. */
  response(): Response {
    if (this.listen?.hasOwnContext === false)
      return sseResponse(new ReadableStream<Uint8Array>(this, NO_QUEUE));
    const body = new ResponseBody({
      onOpen: () => this.#open(body),
      onRoom: () => this.#onRoom(),
      onDisconnect: () => this.listen?.cancel(),
    });
    return body.response();
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#open(controller);
  }

  /** Handles room for one chunk. */
  pull(): void {
    this.group?.bodies.markReady(this.id);
    this.#onRoom();
  }

  /** Handles the disconnection of the client: there is no body any more. */
  cancel(): void {
    this.group?.bodies.forget(this.id);
    this.#body = undefined;
    this.listen?.cancel();
  }

  /** Whether the body has room for a chunk. */
  get hasRoom(): boolean {
    return this.group?.bodies.hasRoom(this.id) === true;
  }

  /** Whether the caller may receive something now. If not, it is authorized again. */
  get mayReceive(): boolean {
    return !this.isReauthorized || this.listen?.maySend() === true;
  }

  /** Waits until the caller may receive something, or the stream has ended. */
  async untilPermitted(): Promise<void> {
    // A renewed authorization may be outdated already: it is asked for again.
    while (!this.hasEnded && !this.mayReceive) {
      this.#permission ??= deferred();
      await this.#permission.promise;
    }
  }

  /** Handles the renewed authorization of the caller. */
  renewed(): void {
    this.#permission?.resolve();
    this.#permission = undefined;
    if (this.isBehind) this.group?.catchUp(this);
  }

  /** Handles output of the listen stream: the acknowledgment, then cues and keep-alives. */
  handleChunk(chunk: Uint8Array): void {
    if (!this.#isAcknowledged) this.#isAcknowledged = true;
    else if (chunk[0] === COLON) this.#beat();
    else this.group?.cue(this.name);
  }

  /** Handles the end of the listen stream. */
  handleEnd(ending: EndReason): void {
    this.hasEnded = true;
    this.#permission?.resolve();
    this.#options.leave();
    const isDenied = ending === 'expired' || ending === 'denied';
    try {
      this.group?.remove(this, isDenied);
    } finally {
      this.#body?.close();
      this.#body = undefined;
    }
  }

  #open(body: ChunkSink | ResponseBody): void {
    // It may have ended before its response was created.
    if (this.hasEnded) {
      body.close();
      return;
    }
    this.#body = body;
    this.group?.bodies.open(this.id, body);
    if (this.first !== undefined) this.group?.bodies.write(this.id, this.first);
    this.first = undefined;
  }

  #onRoom(): void {
    this.#fullSince = undefined;
    if (this.isBehind) this.group?.catchUp(this);
  }

  /** Writes a heartbeat, unless the client has not read for too long. */
  #beat(): void {
    const { group } = this;
    if (group === undefined) return;
    if (this.hasRoom) {
      this.#fullSince = undefined;
      // A read that failed is tried again.
      if (this.isBehind) group.catchUp(this);
      group.beat(this);
      return;
    }
    const { writeMs } = this.#options;
    this.#fullSince ??= performance.now();
    if (writeMs > 0 && performance.now() - this.#fullSince > writeMs) this.listen?.abort();
    else group.bodies.awaitRoom(this.id);
  }
}

/** The first byte of a comment, which is a keep-alive. */
const COLON = 0x3a;
