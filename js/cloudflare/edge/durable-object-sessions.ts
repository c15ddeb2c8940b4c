import type { NewSession, SessionLimits, SessionStore } from '../../bus/session-store.js';
import { ListenError } from '../../model/error.js';
import { hasForm, isMaced } from '../wire/signed-session-id.js';

/** What the bus object answers about sessions. */
export interface SessionStub {
  beginSession(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  askSession(question: string): Promise<string>;
}

/** The key of the bus object, as an edge knows it. */
export interface ObjectKeys {
  /** The key that it is known by. */
  key(): Promise<string>;
  /** The same where it may be another one by now. */
  newerKey(): Promise<string | undefined>;
}

/** Sessions in the bus object: every isolate sees the same ones. */
export class DurableObjectSessions implements SessionStore {
  readonly isShared = true;
  readonly #bus: string;
  readonly #keys: ObjectKeys;
  readonly #stub: () => SessionStub;

  /**
   * @param bus - the name of the bus.
   * @param stub - a fresh stub for each call: one that has failed once may go on failing.
   */
  constructor(bus: string, keys: ObjectKeys, stub: () => SessionStub) {
    this.#bus = bus;
    this.#keys = keys;
    this.#stub = stub;
  }

  begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    return this.#asking((stub) => stub.beginSession(session, limits));
  }

  /** Whether the id has the MAC of the bus object, which is asked for its key at most. */
  mayBe(id: string): Promise<boolean> {
    return this.#asking(() => this.#isOurs(id));
  }

  ask(question: string): Promise<string> {
    return this.#asking((stub) => stub.askSession(question));
  }

  /** Whether the bus object made the id. One that is made up reaches nothing. */
  async #isOurs(id: string): Promise<boolean> {
    if (!hasForm(id)) return false;
    const known = await this.#keys.key();
    if (await isMaced(known, this.#bus, id)) return true;
    const newer = await this.#keys.newerKey();
    return newer !== undefined && newer !== known && isMaced(newer, this.#bus, id);
  }

  async #asking<T>(question: (stub: SessionStub) => Promise<T>): Promise<T> {
    try {
      return await question(this.#stub());
    } catch (cause) {
      throw new ListenError('bus-unavailable', 'the bus did not answer about a session', { cause });
    }
  }
}
