import type { NewSession, SessionState, SessionStore } from './session-store.js';

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

  async create(session: NewSession, limit: number): Promise<boolean> {
    this.#sweep(this.#sessions.size >= limit);
    if (this.#sessions.size >= limit) return false;
    const since = this.#streams.place();
    this.#sessions.set(session.id, { ...session, since, isHeld: true, uris: new Set(), usedAt: performance.now() });
    return true;
  }

  async find(id: string, principal: string | undefined): Promise<SessionState | undefined> {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== principal) return undefined;
    if (this.#isOver(session)) {
      this.#sessions.delete(id);
      return undefined;
    }
    this.touch(id);
    const { capabilities, since } = session;
    return { capabilities, since, isStreaming: this.#streams.has(id) };
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

  async watch(id: string, uri: string, limit: number): Promise<boolean> {
    const uris = this.#sessions.get(id)?.uris;
    if (uris === undefined || uris.has(uri)) return true;
    if (uris.size >= limit) return false;
    uris.add(uri);
    this.#streams.follow(id);
    return true;
  }

  async unwatch(id: string, uri: string): Promise<void> {
    const uris = this.#sessions.get(id)?.uris;
    if (uris?.delete(uri)) this.#streams.follow(id);
  }

  async end(id: string): Promise<void> {
    this.#sessions.delete(id);
    this.#streams.end(id);
  }

  #sweep(isUrgent: boolean): void {
    const now = performance.now();
    if (!isUrgent && now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [id, session] of this.#sessions) {
      if (this.#isOver(session)) this.#sessions.delete(id);
    }
  }

  #isOver({ id, idleMs, usedAt }: Session): boolean {
    return performance.now() - usedAt > idleMs && !this.#streams.has(id);
  }
}

interface Session extends NewSession {
  since: string;
  isHeld: boolean;
  uris: Set<string>;
  usedAt: number;
}

/** Milliseconds between two sweeps, unless there is no room left. */
const SWEEP_MS = 60_000;
