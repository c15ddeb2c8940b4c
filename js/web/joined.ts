/** Returns bytes, followed by more of them. */
export function joined(bytes: Uint8Array, more: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(bytes.byteLength + more.byteLength);
  both.set(bytes);
  both.set(more, bytes.byteLength);
  return both;
}
