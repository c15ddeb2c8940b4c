import type { NewSession, SessionLimits } from '../../../bus/session-store.js';
import { newSessionId } from '../../../bus/session-store.js';
import { calling } from '../../../model/error.js';
import type { Bus } from '../../../wasm/server/bindings.js';
import { signedSessionId } from '../../wire/signed-session-id.js';
import type { AlarmScheduler } from '../alarm.js';
import type { BusKey } from '../key.js';
import type { SessionTable } from '../tables/sessions.js';

/** What {@link RootSessions} needs from its root. */
export interface RootSessionHost {
  /** The table that keeps the sessions. */
  table: SessionTable;
  alarm: AlarmScheduler;
  core: Bus;
  /** The name of the bus. */
  bus: string;
  /** The key of the bus object. */
  key: BusKey;
  /**
   * Carries out the pending outputs; resolves once the shards have the calls that a request waits
   * for.
   */
  flush(): Promise<void>;
}

/** The sessions of a bus. The core keeps them in SQLite; this carries out its outputs. */
export class RootSessions {
  readonly #host: RootSessionHost;

  constructor(host: RootSessionHost) {
    this.#host = host;
  }

  /** The number of sessions. */
  get count(): number {
    return this.#host.core.countSessions();
  }

  /**
   * When the next session will have been idle for too long, in milliseconds since 1970; undefined
   * if there is none.
   */
  get nextEnd(): number | undefined {
    return this.#host.table.nextEnd;
  }

  /** Begins a session and resolves with its id; undefined if there is no room. */
  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const { alarm, bus, core, key } = this.#host;
    const id = await signedSessionId(key.issue(), bus, newSessionId());
    const now = Date.now();
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => core.beginSession(id, text, bounds, now));
    await this.#host.flush();
    if (!hasBegun) return undefined;
    await alarm.wakeBy(now + session.idleMs + 1);
    return id;
  }

  /**
   * Handles a call about a session. The shard that holds its stream has every change before this
   * resolves.
   */
  async ask(question: string): Promise<string> {
    const reply = calling(() => this.#host.core.askSession(question, Date.now()));
    await this.#host.flush();
    return reply;
  }

  /** Ends the sessions that were idle for too long. */
  sweep(): void {
    this.#host.core.sweepSessions(Date.now());
  }
}
