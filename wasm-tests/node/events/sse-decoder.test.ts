import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SseDecoder } from '../../../dist/client/events/sse-decoder.js';

/** Everything that a decoder makes of these chunks. */
function decoded(...chunks: (string | Uint8Array)[]): string[] {
  const decoder = new SseDecoder(1_000);
  return chunks.flatMap((chunk) =>
    decoder.decode(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk),
  );
}

test.each([
  ['one event', 'data: a\n\n', ['a']],
  ['no space after the colon', 'data:a\n\n', ['a']],
  ['one space alone is left out', 'data:  a\n\n', [' a']],
  ['several lines', 'data: a\ndata: b\ndata:\ndata\n\n', ['a\nb\n\n']],
  ['carriage returns', 'data: a\rdata: b\r\rdata: c\r\r', ['a\nb', 'c']],
  ['carriage returns and line feeds', 'data: a\r\ndata: b\r\n\r\n', ['a\nb']],
  [
    'comments and other fields',
    ':x\nid: 1\nevent: message\nretry: 5\ndatas: b\ndata: a\n\n',
    ['a'],
  ],
  ['a byte order mark', '\uFEFFdata: a\n\n', ['a']],
  ['no data', 'data:\n\n\n\nevent: x\n\n', []],
  ['no end', 'data: a\n', []],
])('%s', (_, text, events) => {
  expect(decoded(text)).toEqual(events);
});

test('how the bytes are split changes nothing', () => {
  const pieces = fc.constantFrom('data', ':', ' ', '\r', '\n', '\r\n', 'ö', '🛰', '\n\n', 'data: x');
  fc.assert(
    fc.property(
      fc.array(pieces),
      fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
      (all, sizes) => {
        const bytes = new TextEncoder().encode(`${all.join('')}\n:`);
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += chunks.at(-1)?.length ?? 1)
          chunks.push(bytes.slice(at, at + sizes.next().value));
        expect(decoded(...chunks)).toEqual(decoded(bytes));
      },
    ),
  );
});

describe('an event of more characters than allowed', () => {
  test.each([
    ['in one line', ['data: '.padEnd(1_001, 'x')]],
    ['in many chunks', Array(101).fill('0123456789')],
    ['in many lines', Array(200).fill('data: x\n')],
  ])('%s is an error', (_, chunks) => {
    expect(() => decoded(...chunks)).toThrow(expect.objectContaining({ code: 'event-too-large' }));
  });

  test('is none if its lines belong to several events', () => {
    expect(decoded(...Array(200).fill('data: x\n\n'))).toHaveLength(200);
  });
});
