import { generation } from './server/guard.js';

/** Something of the core that lives long, and is made anew when the core has begun anew. */
export class PerInstance<T> {
  readonly #make: () => T;
  #value: T;
  #life = generation();

  constructor(make: () => T) {
    this.#make = make;
    this.#value = make();
  }

  /** As the core has it now; must not be kept. */
  get value(): T {
    if (this.#life !== generation()) {
      this.#value = this.#make();
      this.#life = generation();
    }
    return this.#value;
  }
}
