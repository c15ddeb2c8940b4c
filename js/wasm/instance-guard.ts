/** What tells whoever uses the core that it has trapped. */
export type TrapErrorMaker = (message: string, cause: unknown) => Error;

/** The lives of one core: after a trap nothing in its memory can be trusted, and it begins anew with a new instance. */
export class InstanceGuard {
  readonly #errorOf: TrapErrorMaker;
  readonly #told = new WeakSet<object>();
  readonly #listeners = new Set<(error: Error) => void>();
  #reset = (): void => {};
  #number = 0;
  /** Those of the instance that there is. */
  #exports: WebAssembly.Exports | undefined;
  #calls: Call[] = [];
  /** Through which the bindings call whichever instance there is. */
  #guarded: WebAssembly.Exports | undefined;
  /** The call that has trapped is being left. */
  #isUnwinding = false;
  #isBeginning = false;
  /** Whether the last attempt to begin anew has failed. */
  #isDown = false;

  constructor(errorOf: TrapErrorMaker) {
    this.#errorOf = errorOf;
  }

  /** Which life this is: what the core made in an earlier one must not be used any more. */
  get generation(): number {
    return this.#number;
  }

  /**
   * `listener` is told when the core has trapped and has begun anew, on behalf of whatever request called it: it may not touch what
   * belongs to another one, nor call the core. The answer takes it out again.
   */
  onReset(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Runs what nobody waits for. Where the core has begun anew, whoever has to know has been told, and this goes no further. */
  ignoringTrap(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!this.isTrapError(error)) throw error;
    }
  }

  /** Whether this was thrown because the core has begun anew. */
  isTrapError(error: unknown): boolean {
    return error instanceof Error && this.#told.has(error);
  }

  /** Has the bindings of `core` call its module through this life; to be called before it is loaded. */
  install(core: Bindings): void {
    this.#reset = core.__wbg_reset_state;
    core.__wbg_live(this);
  }

  /** The exports of an instance as the bindings see them: what is called goes to the instance that there is, and its traps are noticed. */
  guard(exports: WebAssembly.Exports): WebAssembly.Exports {
    this.#exports = exports;
    this.#calls = Object.values(exports).filter((value) => typeof value === 'function') as Call[];
    this.#guarded ??= this.#guardedLike(exports);
    return this.#guarded;
  }

  /** What a call of an object of a former life is answered. */
  stale(): Error {
    return this.#telling('the core has begun anew since', undefined);
  }

  #guardedLike(exports: WebAssembly.Exports): WebAssembly.Exports {
    const guarded = {};
    let place = 0;
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value === 'function') {
        const call = this.#guardedCall(place, name);
        place += 1;
        Object.defineProperty(guarded, name, { value: call, enumerable: true });
      } else
        Object.defineProperty(guarded, name, {
          get: () => this.#exports?.[name],
          enumerable: true,
        });
    }
    return guarded;
  }

  /** One of the exports, by its place among those that are functions. */
  #guardedCall(place: number, name: string): Call {
    const frees = name.endsWith(FREE);
    return (...given) => {
      // The bindings free what they gave to a call that has trapped: its memory is gone already.
      if (this.#isUnwinding && RETURNS.includes(name)) return undefined;
      this.#isUnwinding = false;
      if (this.#isDown && !this.#isBeginning) this.#revive();
      try {
        return this.#calls[place]?.(...given);
      } catch (error) {
        const noticed = this.#noticed(error);
        // Nobody asks whether something could be freed: a trap in it is told like every other, but not thrown.
        if (frees && this.isTrapError(noticed)) return undefined;
        throw noticed;
      }
    };
  }

  #noticed(error: unknown): unknown {
    return !this.#isBeginning && isTrap(error) ? this.#trapped(error) : error;
  }

  #trapped(trap: Error): Error {
    const error = this.#afterTrap(trap);
    this.#isUnwinding = true;
    for (const listener of [...this.#listeners]) listener(error);
    return error;
  }

  #afterTrap(trap: Error): Error {
    try {
      this.#begin();
      return this.#telling('the core has trapped, and has begun anew', trap);
    } catch (failure) {
      return this.#telling(
        'the core has trapped, and could not begin anew',
        new AggregateError([trap, failure]),
      );
    }
  }

  /** What failed once is tried again by every call. */
  #revive(): void {
    try {
      this.#begin();
    } catch (failure) {
      throw this.#telling('the core could not begin anew', failure);
    }
  }

  #begin(): void {
    // The bindings count likewise, whether they succeed or not.
    this.#number += 1;
    this.#isDown = true;
    this.#isBeginning = true;
    try {
      this.#reset();
      this.#isDown = false;
    } finally {
      this.#isBeginning = false;
    }
  }

  #telling(message: string, cause: unknown): Error {
    const error = this.#errorOf(message, cause);
    this.#told.add(error);
    return error;
  }
}

/** The generated bindings of a core. */
interface Bindings {
  __wbg_live(life: InstanceGuard): void;
  __wbg_reset_state(): void;
}

type Call = (...given: unknown[]) => unknown;

/**
 * A stack that overflows is a RangeError in V8 and SpiderMonkey; the core is none the better for it. What the core itself refuses
 * carries a code; an error without one is how the bindings say that an object cannot be as it is.
 */
function isTrap(error: unknown): error is Error {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) return true;
  const isPlain = error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;
  return isPlain && !('code' in error) && error.message !== FREED;
}

/** How the bindings refuse an object that has been freed: that says nothing about the memory. */
const FREED = 'null pointer passed to rust';
/** How the exports end by which the bindings free things. */
const FREE = '_free';
/** Those by which they free what they gave to a call. */
const RETURNS = ['__wbindgen_free', '__externref_drop_slice'];
