import { ListenError } from '../error.js';
import type { NewSession, SessionLimits, SessionState, SessionStore, UriLimit } from '../legacy/session-store.js';

/** What the bus object answers about sessions. */
export interface SessionStub {
  createSession(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  findSession(id: string, principal: string | undefined): Promise<SessionState | undefined>;
  initializeSession(id: string): Promise<void>;
  watchedInSession(id: string): Promise<string[]>;
  watchInSession(id: string, uri: string, limits: SessionLimits): Promise<UriLimit | undefined>;
  unwatchInSession(id: string, uri: string): Promise<void>;
  endSession(id: string): Promise<void>;
}

/** Sessions in the bus object: every isolate sees the same ones. */
export class DurableObjectSessions implements SessionStore {
  readonly isShared = true;
  readonly #stub: () => SessionStub;

  /** @param stub - a fresh stub for each call: one that has failed once may go on failing. */
  constructor(stub: () => SessionStub) {
    this.#stub = stub;
  }

  create(session: NewSession, limits: SessionLimits): Promise<string | undefined> {
    return this.#asking((stub) => stub.createSession(session, limits));
  }

  find(id: string, principal: string | undefined): Promise<SessionState | undefined> {
    return this.#asking((stub) => stub.findSession(id, principal));
  }

  initialized(id: string): Promise<void> {
    return this.#asking((stub) => stub.initializeSession(id));
  }

  watched(id: string): Promise<string[]> {
    return this.#asking((stub) => stub.watchedInSession(id));
  }

  watch(id: string, uri: string, limits: SessionLimits): Promise<UriLimit | undefined> {
    return this.#asking((stub) => stub.watchInSession(id, uri, limits));
  }

  unwatch(id: string, uri: string): Promise<void> {
    return this.#asking((stub) => stub.unwatchInSession(id, uri));
  }

  end(id: string): Promise<void> {
    return this.#asking((stub) => stub.endSession(id));
  }

  async #asking<T>(question: (stub: SessionStub) => Promise<T>): Promise<T> {
    try {
      return await question(this.#stub());
    } catch (cause) {
      throw new ListenError('bus-unavailable', 'the bus did not answer about a session', { cause });
    }
  }
}
