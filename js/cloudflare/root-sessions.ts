import { calling } from '../error.js';
import { newSessionId } from '../legacy/session-id.js';
import type { NewSession, SessionLimits } from '../legacy/session-store.js';
import { report } from '../report.js';
import type { Bus } from '../wasm.js';
import type { AlarmClock } from './alarm-clock.js';
import type { BusKey } from './bus-key.js';
import type { RootShards } from './root-shards.js';
import { macedId } from './session-mac.js';
import { SessionTable } from './session-table.js';

/** What the sessions of a root need of it. */
export interface SessionHost {
  sql: SqlStorage;
  alarm: AlarmClock;
  core: Bus;
  /** The name of the bus. */
  bus: string;
  /** The key of the bus object. */
  key: BusKey;
  /** Undefined where there can be no shards. */
  shards: RootShards | undefined;
  send(edge: number, frame: string): void;
  /** The stream of a session is over, or elsewhere. */
  release(edge: number): void;
  /** The disk has failed. */
  onfailure(error: unknown): void;
}

/** The sessions of a bus, which the core keeps in SQLite: what it wants done about them is done here. */
export class RootSessions {
  readonly #host: SessionHost;
  readonly #table: SessionTable;

  constructor(host: SessionHost) {
    this.#host = host;
    this.#table = new SessionTable(host.sql, host.onfailure);
    host.core.keepSessions(this.#table, 0);
  }

  /** How many sessions are held. */
  get count(): number {
    return this.#host.core.countSessions();
  }

  /** When the next session will have idled for too long; undefined where there is none. */
  get nextEnd(): number | undefined {
    return this.#table.nextEnd;
  }

  /** Begins a session and resolves with its id; with undefined where there is no room. */
  async begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    const { alarm, bus, core, key } = this.#host;
    const id = await macedId(key.issue(), bus, newSessionId());
    const now = Date.now();
    const [text, bounds] = [JSON.stringify(session), JSON.stringify(limits)];
    const hasBegun = calling(() => core.beginSession(id, text, bounds, now));
    await this.flush();
    if (!hasBegun) return undefined;
    await alarm.wakeBy(now + session.idleMs + 1);
    return id;
  }

  /** Asks something of a session. A shard that has its stream knows what has changed before this resolves. */
  async ask(question: string): Promise<string> {
    const reply = calling(() => this.#host.core.askSession(question, Date.now()));
    await this.flush();
    return reply;
  }

  /** Ends the sessions that have idled for too long. */
  sweep(): void {
    this.#host.core.sweepSessions(Date.now());
  }

  /** Carries out what changes of sessions take. Resolves once the shards that a request waits for have answered. */
  async flush(): Promise<void> {
    const { core, release, send, shards } = this.#host;
    const told: (Promise<void> | undefined)[] = [];
    for (let output = core.sessionOutput(); output !== undefined; output = core.sessionOutput()) {
      if (output.kind === 'send') send(output.edge, output.frame);
      else if (output.kind === 'release') release(output.edge);
      else if (output.isAwaited) told.push(shards?.tellSession(output.shard, output.call));
      // Where this fails, a stream stays open that its client has given up.
      else shards?.tellSession(output.shard, output.call).catch(report);
    }
    await Promise.all(told);
  }
}
