import { type CallerContext, callUserFunction } from '../../auth/authorize.js';
import { ListenError } from '../../model/error.js';
import type { EventMode } from '../../model/events/event-mode.js';
import type { AuthorizeEvent } from '../define/definitions.js';
import type { EventHost } from './host.js';

/** What a caller asks for: an event type, and arguments as JSON text. */
export interface Subject {
  name: string;
  arguments: string;
}

/** Asks the server who may receive what. */
export class EventAuthorizer {
  readonly #authorize: AuthorizeEvent | undefined;
  readonly #host: Pick<EventHost, 'authorizeMs' | 'onError'>;

  constructor(authorize: AuthorizeEvent | undefined, host: EventHost) {
    this.#authorize = authorize;
    this.#host = host;
  }

  /** Whether the server decides at all. */
  get decides(): boolean {
    return this.#authorize !== undefined;
  }

  /**
   * Returns true, or why the caller may not receive this: a reason for the caller, or false. An
   * error of the server is a denial.
   */
  async ask(
    caller: CallerContext,
    subject: Subject,
    mode: EventMode | undefined,
    isOpen?: true,
  ): Promise<boolean | string> {
    const authorize = this.#authorize;
    if (authorize === undefined) return true;
    const context = {
      ...caller,
      name: subject.name,
      arguments: JSON.parse(subject.arguments) as Record<string, unknown>,
      mode,
      ...(isOpen && { isOpen }),
    };
    try {
      const { authorizeMs } = this.#host;
      return expectDecision(
        await callUserFunction(authorizeMs, 'authorize', () => authorize(context)),
      );
    } catch (error) {
      // A client that has disconnected is not an error.
      if (!caller.request.signal.aborted) this.#host.onError(error as Error);
      return false;
    }
  }

  /** Returns the names of the types that the caller may know of. */
  async shown(caller: CallerContext, names: string[]): Promise<string[]> {
    const decisions = await Promise.all(
      names.map((name) => this.ask(caller, { name, arguments: '{}' }, undefined)),
    );
    return names.filter((_name, index) => decisions[index] === true);
  }
}

function expectDecision(decision: unknown): boolean | string {
  if (typeof decision === 'boolean' || typeof decision === 'string') return decision;
  throw new ListenError('authorizer-failed', 'authorize returned neither true, false nor a reason');
}
