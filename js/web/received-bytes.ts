/** The bytes of a body so far. Adding a part copies only what is new, apart from growth. */
export class ReceivedBytes {
  #buffer = new Uint8Array(4_096);
  #length = 0;

  /** All bytes so far. They are valid until more are added. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length);
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.byteLength;
    if (length > this.#buffer.byteLength) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.#length);
    this.#length = length;
  }
}
