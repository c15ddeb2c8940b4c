import type { InstanceGuard } from './instance-guard.js';
import { serverGuard } from './server/guard.js';

/** A long-lived object of a core, which is created again after the core was reset. */
export class PerInstance<T> {
  readonly #make: () => T;
  readonly #guard: InstanceGuard;
  #value: T;
  #generation: number;

  constructor(make: () => T, guard = serverGuard) {
    this.#make = make;
    this.#guard = guard;
    this.#value = make();
    this.#generation = guard.generation;
  }

  /** The object in the current instance; must not be kept. */
  get value(): T {
    const { generation } = this.#guard;
    if (this.#generation !== generation) {
      this.#value = this.#make();
      this.#generation = generation;
    }
    return this.#value;
  }
}
