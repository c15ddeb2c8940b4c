import { coreLife } from './server/guard.js';

/** Something of the core that lives long, and is made anew when the core has begun anew. */
export class Renewed<T> {
  readonly #make: () => T;
  #value: T;
  #life = coreLife();

  constructor(make: () => T) {
    this.#make = make;
    this.#value = make();
  }

  /** As the core has it now; must not be kept. */
  get value(): T {
    if (this.#life !== coreLife()) {
      this.#value = this.#make();
      this.#life = coreLife();
    }
    return this.#value;
  }
}
