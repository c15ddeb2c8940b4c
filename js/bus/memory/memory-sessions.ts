import { calling } from '../../model/error.js';
import type { Bus } from '../../wasm/server/bindings.js';
import type { NewSession, SessionLimits, SessionStore } from '../session-store.js';
import { newSessionId } from '../session-store.js';
import type { MemorySessionTable } from './memory-session-table.js';

/** The bus of the sessions of one process. */
export interface SessionBus {
  /** Its core. */
  core(): Bus;
  /** Its log has to miss nothing from now on. */
  heed(): void;
  /** Does what a change of a session takes. */
  flush(): void;
}

/** Sessions in the memory of one process. Those that are over are swept when another one begins. */
export class MemorySessions implements SessionStore {
  readonly isShared = false;
  readonly #rows: MemorySessionTable;
  readonly #bus: SessionBus;
  #sweptAt = 0;

  constructor(rows: MemorySessionTable, bus: SessionBus) {
    this.#rows = rows;
    this.#bus = bus;
  }

  /** How many sessions are held. */
  get size(): number {
    return this.#rows.size;
  }

  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const id = newSessionId();
    this.#bus.heed();
    const now = performance.now();
    this.#sweep(now);
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => this.#bus.core().beginSession(id, text, bounds, now));
    this.#bus.flush();
    return hasBegun ? id : undefined;
  }

  async mayBe(id: string): Promise<boolean> {
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

/** Milliseconds between two sweeps, unless there is no room left. */
const SWEEP_MS = 60_000;
