/** Creates the error that reports a trap of the core to its callers. */
export type TrapErrorMaker = (message: string, cause: unknown) => Error;

/** An object that uses a core, and is never closed. */
export interface CoreUser {
  /** Handles that the core has trapped; see {@link InstanceGuard.onReset} for what it may do. */
  handleReset(): void;
}

/**
 * Guards the instances of a core. After a trap nothing in the memory of an instance can be trusted,
 * so the guard replaces it by a new instance.
 */
export class InstanceGuard {
  readonly #errorOf: TrapErrorMaker;
  readonly #trapErrors = new WeakSet<object>();
  readonly #listeners = new Set<(error: Error) => void>();
  #reset = (): void => {};
  #number = 0;
  /** The exports of the current instance. */
  #exports: WebAssembly.Exports | undefined;
  #calls: Call[] = [];
  /** The exports through which the bindings call the current instance. */
  #guarded: WebAssembly.Exports | undefined;
  /** Set while the bindings return from a call that has trapped. */
  #isUnwinding = false;
  #isRestarting = false;
  /** Whether the last attempt to create an instance failed. */
  #isDown = false;

  constructor(errorOf: TrapErrorMaker) {
    this.#errorOf = errorOf;
  }

  /**
   * The number of the current instance. Objects of an earlier instance must not be used any more.
   */
  get generation(): number {
    return this.#number;
  }

  /**
   * Calls `listener` when the core has trapped and was reset. It runs in the I/O context of the
   * request that called the core: it must not use anything of another request, nor call the core.
   * Returns a function that removes it.
   */
  onReset(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Calls `user.handleReset` once, when {@link onReset} would call a listener. The guard does not
   * keep `user` alive, as it would keep whatever the scope of a listener captures.
   */
  onResetOf(user: CoreUser): void {
    const weak = new WeakRef(user);
    const leave = this.onReset(() => {
      leave();
      weak.deref()?.handleReset();
    });
    collected.register(user, leave);
  }

  /**
   * Runs an action that no caller awaits, and ignores a trap, which listeners have already been
   * notified of.
   */
  ignoringTrap(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!this.isTrapError(error)) throw error;
    }
  }

  /** Returns whether this error was thrown because the core was reset. */
  isTrapError(error: unknown): boolean {
    return error instanceof Error && this.#trapErrors.has(error);
  }

  /**
   * Makes the bindings of `core` call its module through this guard; must be called before it is
   * loaded.
   */
  install(core: Bindings): void {
    this.#reset = core.__wbg_reset_state;
    core.__wbg_set_guard(this);
  }

  /**
   * Returns the exports of an instance for the bindings: calls go to the current instance, and
   * traps are detected.
   */
  guard(exports: WebAssembly.Exports): WebAssembly.Exports {
    this.#exports = exports;
    this.#calls = Object.values(exports).filter((value) => typeof value === 'function') as Call[];
    this.#guarded ??= this.#guardedLike(exports);
    return this.#guarded;
  }

  /** Returns the error for a call of an object of an earlier instance. */
  stale(): Error {
    return this.#trapErrorOf('the core was reset since', undefined);
  }

  #guardedLike(exports: WebAssembly.Exports): WebAssembly.Exports {
    const guarded = {};
    let index = 0;
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value === 'function') {
        const call = this.#guardedCall(index, name);
        index += 1;
        Object.defineProperty(guarded, name, { value: call, enumerable: true });
      } else
        Object.defineProperty(guarded, name, {
          get: () => this.#exports?.[name],
          enumerable: true,
        });
    }
    return guarded;
  }

  /** Returns a guarded export, by its position among the functions. */
  #guardedCall(index: number, name: string): Call {
    const { length } = this.#calls[index] ?? [];
    if (length > FEW) {
      return (...args) => {
        if (this.#skips(name)) return undefined;
        try {
          return this.#calls[index]?.(...args);
        } catch (error) {
          return this.#failed(name, error);
        }
      };
    }
    // Nearly all calls: a list of arguments costs more than many of them.
    return (a, b, c, d) => {
      if (this.#skips(name)) return undefined;
      try {
        return this.#calls[index]?.(a, b, c, d);
      } catch (error) {
        return this.#failed(name, error);
      }
    };
  }

  /** Prepares a call. Returns whether it must not be made. */
  #skips(name: string): boolean {
    // The bindings free the arguments of a call that has trapped, but its memory is already gone.
    if (this.#isUnwinding && RETURNS.includes(name)) return true;
    this.#isUnwinding = false;
    if (this.#isDown && !this.#isRestarting) this.#revive();
    return false;
  }

  /** Handles the error of a call. */
  #failed(name: string, error: unknown): undefined {
    const checked = this.#checkTrap(error);
    // A failure to free memory does not matter to the caller: report a trap in it, but do not
    // throw.
    if (name.endsWith(FREE) && this.isTrapError(checked)) return undefined;
    throw checked;
  }

  #checkTrap(error: unknown): unknown {
    return !this.#isRestarting && isTrap(error) ? this.#trapped(error) : error;
  }

  #trapped(trap: Error): Error {
    const error = this.#afterTrap(trap);
    this.#isUnwinding = true;
    for (const listener of [...this.#listeners]) notify(listener, error);
    return error;
  }

  #afterTrap(trap: Error): Error {
    try {
      this.#restart();
      return this.#trapErrorOf('the core has trapped and was reset', trap);
    } catch (failure) {
      return this.#trapErrorOf(
        'the core has trapped and could not be reset',
        new AggregateError([trap, failure]),
      );
    }
  }

  /** After a failed reset, every call tries again. */
  #revive(): void {
    try {
      this.#restart();
    } catch (failure) {
      throw this.#trapErrorOf('the core could not be reset', failure);
    }
  }

  #restart(): void {
    // The bindings increment their number too, even if the reset fails.
    this.#number += 1;
    this.#isDown = true;
    this.#isRestarting = true;
    try {
      this.#reset();
      this.#isDown = false;
    } finally {
      this.#isRestarting = false;
    }
  }

  #trapErrorOf(message: string, cause: unknown): Error {
    const error = this.#errorOf(message, cause);
    this.#trapErrors.add(error);
    return error;
  }
}

/** Notifies a listener. One that throws does not stop the others. */
function notify(listener: (error: Error) => void, error: Error): void {
  try {
    listener(error);
  } catch (thrown) {
    console.error('mcp-listen:', thrown);
  }
}

/** Removes the listeners of objects that were collected. */
const collected = new FinalizationRegistry<() => void>((leave) => leave());

/** The generated bindings of a core. */
interface Bindings {
  __wbg_set_guard(guard: InstanceGuard): void;
  __wbg_reset_state(): void;
}

type Call = (...args: unknown[]) => unknown;

/**
 * Returns whether an error is a trap. A stack overflow is a RangeError in V8 and SpiderMonkey, and
 * leaves the core unusable as well. Errors that the core returns have a `code`. With a plain error
 * without a code, the bindings report that an object is in an invalid state.
 */
function isTrap(error: unknown): error is Error {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) return true;
  const isPlain = error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;
  return isPlain && !('code' in error) && error.message !== FREED;
}

/**
 * The message with which the bindings reject a freed object, which says nothing about the memory.
 */
const FREED = 'null pointer passed to rust';
/** Arguments that are passed without a list. */
const FEW = 4;
/** The suffix of the exports with which the bindings free objects. */
const FREE = '_free';
/** The exports with which the bindings free the arguments of a call. */
const RETURNS = ['__wbindgen_free', '__externref_drop_slice'];
