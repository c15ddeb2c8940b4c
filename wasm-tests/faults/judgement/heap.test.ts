import { expect, test } from 'vitest';
import { bytesIn, resultIn } from './heap.ts';

const USAGE = {
  usedSize: 3_000_000,
  embedderHeapUsedSize: 20,
  backingStorageSize: 1,
  totalSize: 9,
};

test('a heap is the sum of its objects, those of the runtime and the buffers', () => {
  expect(bytesIn(USAGE)).toBe(3_000_021);
});

test.each(['usedSize', 'embedderHeapUsedSize', 'backingStorageSize'])(
  'a heap without %s is an error, not one of fewer bytes',
  (part) => {
    expect(() => bytesIn({ ...USAGE, [part]: undefined })).toThrow('no heap of an isolate');
  },
);

test('a heap of less than an isolate needs is an error', () => {
  expect(() => bytesIn({ ...USAGE, usedSize: 900_000 })).toThrow('no heap of an isolate');
});

test('an error of the inspector is an error, not a heap of 0 bytes', () => {
  const error = { code: -32_000, message: 'not attached' };
  expect(() => resultIn({ id: 3, error })).toThrow('not attached');
  expect(resultIn({ id: 3, result: USAGE })).toBe(USAGE);
});
