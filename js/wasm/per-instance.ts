import type { CoreUser, InstanceGuard } from './instance-guard.js';
import { serverGuard } from './server/guard.js';

/** A long-lived object of a core, which is created again after the core was reset. */
export class PerInstance<T> implements CoreUser {
  readonly #make: () => T;
  readonly #guard: InstanceGuard;
  readonly #onReplaced: ((former: T) => void) | undefined;
  #value: T;
  /** Whether there is no object in the current instance. */
  #isStale = true;

  /** @param onReplaced - called after the first use of the object that replaces another one. */
  constructor(make: () => T, guard = serverGuard, onReplaced?: (former: T) => void) {
    this.#make = make;
    this.#guard = guard;
    this.#onReplaced = onReplaced;
    this.#value = this.#made();
  }

  /** The object in the current instance; must not be kept. */
  get value(): T {
    if (this.#isStale) {
      const former = this.renew();
      this.#onReplaced?.(former);
    }
    return this.#value;
  }

  /** Replaces the object. Returns the previous one. */
  renew(): T {
    const former = this.#value;
    this.#value = this.#made();
    return former;
  }

  handleReset(): void {
    this.#isStale = true;
  }

  #made(): T {
    const made = this.#make();
    if (this.#isStale) {
      this.#isStale = false;
      this.#guard.onResetOf(this);
    }
    return made;
  }
}
