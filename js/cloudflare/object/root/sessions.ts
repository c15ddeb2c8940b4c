import type { NewSession, SessionLimits } from '../../../bus/session-store.js';
import { newSessionId } from '../../../bus/session-store.js';
import { calling } from '../../../model/error.js';
import type { Bus } from '../../../wasm/server/bindings.js';
import { macedId } from '../../wire/signed-session-id.js';
import type { AlarmScheduler } from '../alarm.js';
import type { BusKey } from '../key.js';
import type { SessionTable } from '../tables/sessions.js';

/** What the sessions of a root need of it. */
export interface RootSessionHost {
  /** Where they are kept. */
  table: SessionTable;
  alarm: AlarmScheduler;
  core: Bus;
  /** The name of the bus. */
  bus: string;
  /** The key of the bus object. */
  key: BusKey;
  /** Does what the core wants done; resolves once the shards have been told that a request waits for. */
  flush(): Promise<void>;
}

/** The sessions of a bus, which the core keeps in SQLite: what it wants done about them is done here. */
export class RootSessions {
  readonly #host: RootSessionHost;

  constructor(host: RootSessionHost) {
    this.#host = host;
  }

  /** How many sessions are held. */
  get count(): number {
    return this.#host.core.countSessions();
  }

  /** When the next session will have idled for too long; undefined where there is none. */
  get nextEnd(): number | undefined {
    return this.#host.table.nextEnd;
  }

  /** Begins a session and resolves with its id; with undefined where there is no room. */
  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const { alarm, bus, core, key } = this.#host;
    const id = await macedId(key.issue(), bus, newSessionId());
    const now = Date.now();
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => core.beginSession(id, text, bounds, now));
    await this.#host.flush();
    if (!hasBegun) return undefined;
    await alarm.wakeBy(now + session.idleMs + 1);
    return id;
  }

  /** Asks something of a session. A shard that has its stream knows what has changed before this resolves. */
  async ask(question: string): Promise<string> {
    const reply = calling(() => this.#host.core.askSession(question, Date.now()));
    await this.#host.flush();
    return reply;
  }

  /** Ends the sessions that have idled for too long. */
  sweep(): void {
    this.#host.core.sweepSessions(Date.now());
  }
}
