import { expect, test } from 'vitest';
import { eachWrite, FanoutBodies } from '../../../../dist/streams/bodies/fanout-bodies.js';

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

const LETTERS = ['a', 'b', 'c'];

/** Three chunks for two streams each, of which some have no room: every set of those. */
const blocked = Array.from({ length: 2 ** 6 }, (_, set) =>
  Array.from({ length: 6 }, (_, stream) => stream).filter((stream) => (set >> stream) % 2 === 1),
);

test.for([200, 1_500, 5_000])(
  'with chunks of %i bytes each stream is sent its own, whichever streams have no room',
  (bytes) => {
    const texts = LETTERS.map((letter, index) => letter.repeat(bytes + index * 500));
    for (const streams of blocked) {
      const bodies = new FanoutBodies();
      const sent = new Map<number, string>();
      const chunkOf = [0, 1, 2, 0, 1, 2];
      for (const stream of chunkOf.keys()) {
        const enqueue = (chunk: Uint8Array) => {
          sent.set(stream, new TextDecoder().decode(chunk));
        };
        bodies.open(stream, { desiredSize: 1, enqueue, close: () => {} });
        if (!streams.includes(stream)) bodies.markReady(stream);
      }
      expect(bodies.writeAll(batchOf(texts, [...chunkOf.entries()]))).toEqual(streams);
      const writes = [...chunkOf.entries()].filter(([stream]) => !streams.includes(stream));
      const expected = writes.map(([stream, chunk]) => [stream, texts[chunk]]);
      expect([...sent]).toEqual(expected);
    }
  },
);

/**
 * A write batch as the core packs it. Without other `writes`, the stream with the index of each
 * chunk gets it.
 */
function batchOf(
  texts: string[],
  writes: [stream: number, chunk: number][] = texts.map((_, index) => [index, index]),
): Uint8Array {
  const chunks = texts.map((text) => new TextEncoder().encode(text));
  let end = 0;
  const ends = chunks.map(({ length }) => {
    end += length;
    return end;
  });
  const head = 4 * (2 + ends.length + writes.length * 2);
  const batch = new Uint8Array(head + end);
  new Uint32Array(batch.buffer, 0, head / 4).set([head, ends.length, ...ends, ...writes.flat()]);
  for (const [index, chunk] of chunks.entries())
    batch.set(chunk, head + ((ends[index] ?? 0) - chunk.length));
  return batch;
}
