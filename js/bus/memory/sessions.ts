import { calling } from '../../model/error.js';
import type { Bus } from '../../wasm/server/bindings.js';
import type { NewSession, SessionLimits, SessionStore } from '../session-store.js';
import { newSessionId } from '../session-store.js';
import type { MemorySessionTable } from './session-table.js';

/** What the sessions of one process need from its bus. */
export interface SessionBus {
  /** Returns its core. */
  core(): Bus;
  /** From now on the log must not miss an event. */
  retainEvents(): void;
  /** Performs the outputs of the core after a change of a session. */
  flush(): void;
}

/**
 * Sessions in the memory of one process. Sessions that have ended are removed when another one
 * begins.
 */
export class MemorySessions implements SessionStore {
  readonly isShared = false;
  readonly #rows: MemorySessionTable;
  readonly #bus: SessionBus;
  #sweptAt = 0;

  constructor(rows: MemorySessionTable, bus: SessionBus) {
    this.#rows = rows;
    this.#bus = bus;
  }

  /** Number of sessions. */
  get size(): number {
    return this.#rows.size;
  }

  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const id = newSessionId();
    this.#bus.retainEvents();
    const now = performance.now();
    this.#sweep(now);
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => this.#bus.core().beginSession(id, text, bounds, now));
    this.#bus.flush();
    return hasBegun ? id : undefined;
  }

  async mayExist(id: string): Promise<boolean> {
    return this.#rows.has(id);
  }

  async ask(question: string): Promise<string> {
    const reply = calling(() => this.#bus.core().askSession(question, performance.now()));
    this.#bus.flush();
    return reply;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#bus.core().sweepSessions(now);
  }
}

/** Milliseconds between two sweeps; the core also sweeps when there is no room for a session. */
const SWEEP_MS = 60_000;
