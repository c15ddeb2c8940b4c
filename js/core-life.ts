/** What tells whoever uses the core that it has trapped. */
export type Trapped = (message: string, cause: unknown) => Error;

/** The lives of one core: after a trap nothing in its memory can be trusted, and it begins anew with a new instance. */
export class CoreLife {
  readonly #errorOf: Trapped;
  readonly #told = new WeakSet<object>();
  readonly #listeners = new Set<(error: Error) => void>();
  #reset = (): void => {};
  #number = 0;
  /** Whether the last attempt to begin anew has failed. */
  #isDown = false;

  constructor(errorOf: Trapped) {
    this.#errorOf = errorOf;
  }

  /** Which life this is: what the core made in an earlier one must not be used any more. */
  get number(): number {
    return this.#number;
  }

  /**
   * `listener` is told when the core has trapped and has begun anew, on behalf of whatever request called it: it may not touch what
   * belongs to another one, nor call the core. The answer takes it out again.
   */
  whenTrapped(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Runs what nobody waits for. Where the core has begun anew, whoever has to know has been told, and this goes no further. */
  surviving(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!this.isOfTrap(error)) throw error;
    }
  }

  /** Whether this was thrown because the core has begun anew. */
  isOfTrap(error: unknown): boolean {
    return error instanceof Error && this.#told.has(error);
  }

  /** Sees to it that traps are noticed in all methods of all classes of `core`, and that `reset` is called then. */
  notice(core: object, reset: () => void): void {
    this.#reset = reset;
    for (const exported of Object.values(core)) {
      if (exported?.prototype === undefined) continue;
      for (const holder of [exported, exported.prototype]) this.#noticeIn(holder);
    }
  }

  /** `call`, which goes into the core, with its traps noticed. */
  noticing<This, Arguments extends unknown[], Answer>(
    call: (this: This, ...given: Arguments) => Answer,
  ): (this: This, ...given: Arguments) => Answer {
    const life = this;
    return function (...given) {
      if (life.#isDown) life.#revive();
      try {
        return call.apply(this, given);
      } catch (error) {
        throw life.#noticed(error);
      }
    };
  }

  /** `made`, a class of the core, with the traps of its constructor noticed. */
  made<Class extends object>(made: Class): Class {
    const construct = this.noticing((target: object, given: unknown[], own: Maker): object =>
      Reflect.construct(target as Maker, given, own),
    );
    return new Proxy(made, { construct } as ProxyHandler<Class>);
  }

  #noticeIn(holder: object): void {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (name === 'constructor') continue;
      if (name === 'free') property.value = this.#sparing(property.value);
      else if (typeof property.value === 'function') property.value = this.noticing(property.value);
      else if (property.get !== undefined) property.get = this.noticing(property.get);
      else continue;
      Object.defineProperty(holder, name, property);
    }
  }

  /**
   * The bindings guard all calls against objects of a former life, but not `free`, which would free what the new memory has there.
   * Nobody asks whether something could be freed: a trap in it is told like every other, but not thrown.
   */
  #sparing(free: (this: Stale) => void): (this: Stale) => void {
    const life = this;
    const watched = this.noticing(free);
    return function () {
      const isCurrent = this.__wbg_inst === undefined || this.__wbg_inst === life.#number;
      if (isCurrent && !life.#isDown) life.surviving(() => watched.call(this));
    };
  }

  #noticed(error: unknown): unknown {
    if (isTrap(error)) return this.#trapped(error);
    const isStale = error instanceof Error && error.message === STALE;
    return isStale ? this.#telling('the core has begun anew since', error) : error;
  }

  #trapped(trap: Error): Error {
    const error = this.#afterTrap(trap);
    for (const listener of [...this.#listeners]) listener(error);
    return error;
  }

  #afterTrap(trap: Error): Error {
    try {
      this.#begin();
      return this.#telling('the core has trapped, and has begun anew', trap);
    } catch (failure) {
      return this.#telling('the core has trapped, and could not begin anew', new AggregateError([trap, failure]));
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
    this.#reset();
    this.#isDown = false;
  }

  #telling(message: string, cause: unknown): Error {
    const error = this.#errorOf(message, cause);
    this.#told.add(error);
    return error;
  }
}

/** Any class. */
type Maker = new (...given: unknown[]) => object;

/** The bindings' mark of the life that an object is of. */
interface Stale {
  __wbg_inst?: number;
}

/**
 * A stack that overflows is a RangeError in V8 and SpiderMonkey; the core is none the better for it. What the core itself refuses
 * carries a code; an error without one is how the bindings say that an object cannot be as it is.
 */
function isTrap(error: unknown): error is Error {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) return true;
  const isPlain = error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;
  return isPlain && !('code' in error) && error.message !== STALE && error.message !== FREED;
}

/** How the bindings refuse an object that has been freed: that says nothing about the memory. */
const FREED = 'null pointer passed to rust';
/** How the bindings refuse an object of a former life. */
const STALE = 'Invalid stale object from previous Wasm instance';
