import { expect, test } from 'vitest';
import { eachWrite } from '../../../../dist/streams/bodies/fanout-bodies.js';

test.for([
  { chunks: 3, bytes: 200 },
  { chunks: 100, bytes: 200 },
  { chunks: 3, bytes: 5_000 },
])(
  'each of $chunks chunks of $bytes bytes is cut once, and keeps few others alive',
  ({ chunks, bytes }) => {
    const texts = Array.from({ length: chunks }, (_, index) => `${index}`.padEnd(bytes, '.'));
    const written: Uint8Array[] = [];
    eachWrite(batchOf(texts), (stream, cache, index) => {
      expect(stream).toBe(index);
      written.push(cache.at(index));
      expect(cache.at(index)).toBe(written.at(-1));
    });
    expect(written.map((chunk) => new TextDecoder().decode(chunk))).toEqual(texts);
    for (const { buffer } of written)
      expect(buffer.byteLength).toBeLessThanOrEqual(Math.max(4_096, bytes));
  },
);

/** A write batch as the core packs it, in which the stream with the index of each chunk gets it. */
function batchOf(texts: string[]): Uint8Array {
  const chunks = texts.map((text) => new TextEncoder().encode(text));
  let end = 0;
  const ends = chunks.map(({ length }) => {
    end += length;
    return end;
  });
  const writes = chunks.flatMap((_, index) => [index, index]);
  const head = 4 * (2 + ends.length + writes.length);
  const batch = new Uint8Array(head + end);
  new Uint32Array(batch.buffer, 0, head / 4).set([head, ends.length, ...ends, ...writes]);
  for (const [index, chunk] of chunks.entries())
    batch.set(chunk, head + ((ends[index] ?? 0) - chunk.length));
  return batch;
}
