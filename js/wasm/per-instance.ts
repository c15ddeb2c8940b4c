import type { InstanceGuard } from './instance-guard.js';
import { serverGuard } from './server/guard.js';

/** A long-lived object of a core, which is created again after the core was reset. */
export class PerInstance<T> {
  readonly #make: () => T;
  readonly #guard: InstanceGuard;
  readonly #onReplaced: ((former: T) => void) | undefined;
  #value: T;
  #generation: number;

  /** @param onReplaced - called after the first use of the object that replaces another one. */
  constructor(make: () => T, guard = serverGuard, onReplaced?: (former: T) => void) {
    this.#make = make;
    this.#guard = guard;
    this.#onReplaced = onReplaced;
    this.#value = make();
    this.#generation = guard.generation;
  }

  /** The object in the current instance; must not be kept. */
  get value(): T {
    const { generation } = this.#guard;
    if (this.#generation !== generation) {
      const former = this.renew();
      this.#onReplaced?.(former);
    }
    return this.#value;
  }

  /** Replaces the object. Returns the previous one. */
  renew(): T {
    const former = this.#value;
    this.#value = this.#make();
    this.#generation = this.#guard.generation;
    return former;
  }
}
