import { newSessionId } from './session-id.js';
import { type OwnSession, SessionRoom, surplus, uriBytes } from './session-room.js';
import type { NewSession, SessionLimits, SessionState, SessionStore, UriLimit } from './session-store.js';

/** What the bus does for the stream of a session. */
export interface SessionStreams {
  /** The event id that says "everything published so far". */
  place(): string;
  /** Whether the session has a stream. */
  has(id: string): boolean;
  /** What the session watches, or whether its client is ready to hear of that, has changed. */
  follow(id: string): void;
  /** The session is over. */
  end(id: string): void;
}

/** Sessions in the memory of one process. Those that are over are swept when another one begins. */
export class MemorySessions implements SessionStore {
  readonly isShared = false;
  readonly #streams: SessionStreams;
  readonly #sessions = new Map<string, Session>();
  readonly #room = new SessionRoom();
  /** The ids of the sessions of each caller that is told from others. */
  readonly #callers = new Map<string, Set<string>>();
  #sweptAt = 0;

  constructor(streams: SessionStreams) {
    this.#streams = streams;
  }

  /** How many sessions are held. */
  get size(): number {
    return this.#sessions.size;
  }

  /** The resources that a session watches. */
  uris(id: string): string[] {
    return [...(this.#sessions.get(id)?.uris ?? [])];
  }

  /** Whether the client of a session has yet to say that it is ready. */
  isHeld(id: string): boolean {
    return this.#sessions.get(id)?.isHeld === true;
  }

  /** The session counts as used now. */
  touch(id: string): void {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.usedAt = performance.now();
  }

  async create(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    if (!this.#makeRoom(session, limits)) return undefined;
    const id = newSessionId();
    const caller = callerOf(session);
    const begun = { since: this.#streams.place(), isHeld: true, uris: new Set<string>(), uriBytes: 0 };
    this.#sessions.set(id, { ...session, ...begun, id, usedAt: performance.now() });
    this.#room.add({ isNamed: isNamed(session), sessions: 1 });
    if (caller !== undefined) this.#callers.set(caller, (this.#callers.get(caller) ?? new Set()).add(id));
    return id;
  }

  async mayBe(id: string): Promise<boolean> {
    return this.#sessions.has(id);
  }

  async find(id: string, principal: string | undefined): Promise<SessionState | undefined> {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== principal) return undefined;
    if (this.#isOver(session)) {
      this.#forget(id);
      return undefined;
    }
    this.touch(id);
    const { behind, capabilities, since } = session;
    return { capabilities, since, ...(behind !== undefined && { behind }), isStreaming: this.#streams.has(id) };
  }

  async initialized(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session?.isHeld !== true) return;
    session.isHeld = false;
    this.#streams.follow(id);
  }

  async watched(id: string): Promise<string[]> {
    return this.uris(id);
  }

  async watch(id: string, uri: string, limits: SessionLimits): Promise<UriLimit | undefined> {
    const session = this.#sessions.get(id);
    if (session === undefined || session.uris.has(uri)) return undefined;
    const watched = { uris: session.uris.size, bytes: session.uriBytes };
    const excess = this.#room.excess(isNamed(session), watched, uri, limits);
    if (excess !== undefined) return excess;
    session.uris.add(uri);
    this.#count(session, uriBytes(uri));
    this.#streams.follow(id);
    return undefined;
  }

  async unwatch(id: string, uri: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session?.uris.delete(uri) !== true) return;
    this.#count(session, -uriBytes(uri));
    this.#streams.follow(id);
  }

  async end(id: string): Promise<void> {
    this.#forget(id);
    this.#streams.end(id);
  }

  #makeRoom(session: NewSession, limits: SessionLimits): boolean {
    const own = this.#ofCaller(session);
    if (own !== undefined) {
      if (limits.sessionsPerPrincipal < 1) return false;
      for (const id of surplus(own, limits.sessionsPerPrincipal)) void this.end(id);
    }
    this.#sweep(!this.#room.hasRoom(isNamed(session), limits));
    return this.#room.hasRoom(isNamed(session), limits);
  }

  /** The sessions of a caller; undefined where nothing tells it from others. */
  #ofCaller(session: NewSession): OwnSession[] | undefined {
    const caller = callerOf(session);
    if (caller === undefined) return undefined;
    return [...(this.#callers.get(caller) ?? [])].map((id) => {
      return { id, usedAt: this.#sessions.get(id)?.usedAt ?? 0, isStreaming: this.#streams.has(id) };
    });
  }

  #count(session: Session, bytes: number): void {
    session.uriBytes += bytes;
    this.#room.add({ isNamed: isNamed(session), bytes });
  }

  #forget(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#room.add({ isNamed: isNamed(session), sessions: -1, bytes: -session.uriBytes });
    const caller = callerOf(session);
    const own = caller === undefined ? undefined : this.#callers.get(caller);
    own?.delete(id);
    if (caller !== undefined && own?.size === 0) this.#callers.delete(caller);
  }

  #sweep(isUrgent: boolean): void {
    const now = performance.now();
    if (!isUrgent && now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [id, session] of this.#sessions) {
      if (this.#isOver(session)) this.#forget(id);
    }
  }

  #isOver({ id, idleMs, usedAt }: Session): boolean {
    return performance.now() - usedAt > idleMs && !this.#streams.has(id);
  }
}

interface Session extends NewSession {
  id: string;
  since: string;
  isHeld: boolean;
  uris: Set<string>;
  uriBytes: number;
  usedAt: number;
}

function isNamed({ principal }: NewSession): boolean {
  return principal !== undefined;
}

/** What tells a caller from others: its name, or its address. */
function callerOf({ address, principal }: NewSession): string | undefined {
  return principal === undefined ? address && `address ${address}` : `name ${principal}`;
}

/** Milliseconds between two sweeps, unless there is no room left. */
const SWEEP_MS = 60_000;
