import { calling } from '../model/error.js';
import type { Bus, SessionRows } from '../wasm/server/bindings.js';
import type { NewSession, SessionLimits, SessionStore } from './session-store.js';

/** What {@link CoreSessions} needs from its bus. */
export interface SessionBus {
  /** Whether all isolates and processes that use the bus see the sessions. */
  isShared: boolean;
  /** The table in which the core keeps the sessions. */
  rows: SessionRows;
  /** Returns the core of the bus. */
  core(): Bus;
  /** Returns the time, in milliseconds, on the clock by which sessions end. */
  now(): number;
  /** From now on the log must not miss an event. Called before each session begins. */
  retainEvents?(): void;
  /** Returns the id of a new session with its signature. Without it, ids are not signed. */
  signed?(id: string): Promise<string>;
  /**
   * Carries out the pending outputs of the core; resolves once the shards have the calls that a
   * request waits for.
   */
  flush(): void | Promise<void>;
  /**
   * Makes the bus call {@link CoreSessions.sweep} at this time or before. Without it, sessions
   * that have ended are removed when another one begins.
   */
  wakeBy?(at: number): Promise<void>;
}

/** The sessions of a bus. Its core keeps them in a table; this carries out its outputs. */
export class CoreSessions implements SessionStore {
  readonly isShared: boolean;
  readonly #bus: SessionBus;
  #sweptAt = 0;

  constructor(bus: SessionBus) {
    this.isShared = bus.isShared;
    this.#bus = bus;
  }

  /** The number of sessions, including those that have ended and are not removed yet. */
  get size(): number {
    return this.#bus.core().countSessions();
  }

  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const bus = this.#bus;
    bus.retainEvents?.();
    // 122 random bits, which reveal nothing about the session.
    const random = crypto.randomUUID();
    const id = bus.signed === undefined ? random : await bus.signed(random);
    const now = bus.now();
    if (bus.wakeBy === undefined) this.#sweepIfDue(now);
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => bus.core().beginSession(id, text, bounds, now));
    await bus.flush();
    if (!hasBegun) return undefined;
    await bus.wakeBy?.(now + session.idleMs + 1);
    return id;
  }

  async mayExist(id: string): Promise<boolean> {
    return this.#bus.rows.get(id) !== undefined;
  }

  /** The shard that holds the stream of the session has every change before this resolves. */
  async ask(question: string): Promise<string> {
    const reply = calling(() => this.#bus.core().askSession(question, this.#bus.now()));
    await this.#bus.flush();
    return reply;
  }

  /** Removes the sessions that were idle for too long. */
  sweep(): void {
    this.#bus.core().sweepSessions(this.#bus.now());
  }

  #sweepIfDue(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.sweep();
  }
}

/** Milliseconds between two sweeps; the core also sweeps when there is no room for a session. */
const SWEEP_MS = 60_000;
