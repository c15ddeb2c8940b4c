import type { HeldStream } from './held-stream.js';

/** How many streams each caller that has a name holds, or is about to. */
export class Callers {
  readonly #counts = new Map<string, number>();
  readonly #names = new WeakMap<HeldStream, string>();

  /** How many a caller has; those that nobody named are not counted. */
  count(name: string | undefined): number {
    return name === undefined ? 0 : (this.#counts.get(name) ?? 0);
  }

  /** A caller is about to have one more. */
  enter(name: string | undefined): void {
    if (name !== undefined) this.#counts.set(name, this.count(name) + 1);
  }

  /** Nothing has become of it. */
  leave(name: string | undefined): void {
    if (name === undefined) return;
    const left = this.count(name) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }

  /** It is open. */
  hold(stream: HeldStream, name: string | undefined): void {
    if (name !== undefined) this.#names.set(stream, name);
  }

  /** A stream has ended. */
  release(stream: HeldStream): void {
    this.leave(this.#names.get(stream));
    this.#names.delete(stream);
  }
}
