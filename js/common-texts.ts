/** Keeps a text once that many have in common: clients mint few distinct ids, and ask for few distinct things. */
export class CommonTexts {
  readonly #known = new Map<string, string>();

  /** The text that is kept in place of this one. */
  kept(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // What nobody has in common must not be kept for ever.
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}

const MOST = 256;
