import { generation } from './server/guard.js';

/** A long-lived object of the core, which is created again after the core was reset. */
export class PerInstance<T> {
  readonly #make: () => T;
  #value: T;
  #generation = generation();

  constructor(make: () => T) {
    this.#make = make;
    this.#value = make();
  }

  /** The object in the current instance; must not be kept. */
  get value(): T {
    if (this.#generation !== generation()) {
      this.#value = this.#make();
      this.#generation = generation();
    }
    return this.#value;
  }
}
