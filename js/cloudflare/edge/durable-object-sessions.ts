import type { NewSession, SessionLimits, SessionStore } from '../../bus/session-store.js';
import { ListenError } from '../../model/error.js';
import { isSessionId, isSignedSessionId } from '../wire/signed-session-id.js';
import type { BusStub } from '../wire/stubs.js';

/** Gives the key of the bus object to an edge. */
export interface ObjectKeys {
  /** Returns the known key. */
  key(): Promise<string>;
  /** Returns the key after it may have changed. */
  newerKey(): Promise<string | undefined>;
}

/** Keeps sessions in the bus object, where every isolate sees them. */
export class DurableObjectSessions implements SessionStore {
  readonly isShared = true;
  readonly #bus: string;
  readonly #keys: ObjectKeys;
  readonly #stub: () => BusStub;

  /**
   * @param bus - the name of the bus.
   * @param stub - returns a fresh stub for each call, because a stub that failed once may keep
   *   failing.
   */
  constructor(bus: string, keys: ObjectKeys, stub: () => BusStub) {
    this.#bus = bus;
    this.#keys = keys;
    this.#stub = stub;
  }

  begin(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    return this.#call((stub) => stub.beginSession(session, limits));
  }

  /** Whether the id has the MAC of the bus object. Calls the object at most for its key. */
  mayExist(id: string): Promise<boolean> {
    return this.#call(() => this.#isSigned(id));
  }

  ask(question: string): Promise<string> {
    return this.#call((stub) => stub.askSession(question));
  }

  /** Whether the bus object issued the id. A forged id never reaches the object. */
  async #isSigned(id: string): Promise<boolean> {
    if (!isSessionId(id)) return false;
    const known = await this.#keys.key();
    if (await isSignedSessionId(known, this.#bus, id)) return true;
    const newer = await this.#keys.newerKey();
    return newer !== undefined && newer !== known && isSignedSessionId(newer, this.#bus, id);
  }

  async #call<T>(call: (stub: BusStub) => Promise<T>): Promise<T> {
    try {
      return await call(this.#stub());
    } catch (cause) {
      throw new ListenError(
        'bus-unavailable',
        'the bus did not reply to a request about a session',
        {
          cause,
        },
      );
    }
  }
}
