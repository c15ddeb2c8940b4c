import { runCallback } from '../callback.js';

/**
 * A value that changes. It fits the stores of Svelte, `useSyncExternalStore` of React and `from` of
 * Solid as it is, because both functions can be called without the object as `this`.
 */
export interface Store<Value> {
  /** Calls `run` with the value at once and after each change, until the result is called. */
  subscribe: (run: (value: Value) => void) => () => void;
  /** Returns the current value: the same object until it changes. */
  getSnapshot: () => Value;
}

/** A store whose value its owner sets. */
export class WritableStore<Value> implements Store<Value> {
  readonly #runs = new Set<() => void>();
  readonly #onFirst: () => () => void;
  #onLast = (): void => {};
  #value: Value;

  /** @param onFirst - called with the first subscriber; its result is called with the last. */
  constructor(value: Value, onFirst: () => () => void = () => () => {}) {
    this.#value = value;
    this.#onFirst = onFirst;
  }

  readonly getSnapshot = (): Value => this.#value;

  readonly subscribe = (run: (value: Value) => void): (() => void) => {
    const runNow = (): void => run(this.#value);
    this.#runs.add(runNow);
    if (this.#runs.size === 1) this.#onLast = this.#onFirst();
    runNow();
    return () => {
      if (this.#runs.delete(runNow) && this.#runs.size === 0) this.#onLast();
    };
  };

  set(value: Value): void {
    this.#value = value;
    for (const run of [...this.#runs]) runCallback(run);
  }
}
