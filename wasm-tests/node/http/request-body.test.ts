import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { host } from '../../../dist/model/host-profile.js';
import { isBodyTimeout, readStart } from '../../../dist/web/request-body.js';

const { fansOut } = host;
afterEach(() => {
  host.fansOut = fansOut;
});

/** A request with a body of these chunks, whose header states `length` bytes. */
function requestOf(chunks: string[], length?: number, type: 'bytes' | undefined = 'bytes') {
  const encoder = new TextEncoder();
  const left = chunks.map((chunk) => encoder.encode(chunk));
  const pull = (controller: ReadableByteStreamController | ReadableStreamDefaultController) => {
    const chunk = left.shift();
    if (chunk !== undefined) controller.enqueue(chunk);
    else {
      controller.close();
      // A reader with a buffer waits for this.
      if ('byobRequest' in controller) controller.byobRequest?.respond(0);
    }
  };
  const body = new ReadableStream({ type, pull } as UnderlyingByteSource);
  const headers = new Headers(length === undefined ? {} : { 'content-length': String(length) });
  return { body: body as ReadableStream<Uint8Array<ArrayBuffer>>, headers };
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe.each([
  ['where one request writes to all', true],
  ['where each request has its own context', false],
])('the start of a body, %s,', (_, fans) => {
  beforeEach(() => {
    host.fansOut = fans;
  });

  test.each([
    ['its length', 10],
    ['a shorter length', 4],
    ['a longer length', 16],
    ['more than the limit', 1_000_000],
    ['no length', undefined],
    ['zero', 0],
    ['no number', Number.NaN],
    ['a negative number', -1],
  ])('is the whole body if the header states %s', async (_name, length) => {
    for (const chunks of [['0123456789'], ['01', '2345', '6789'], [...'0123456789']]) {
      const { bytes, rest } = await readStart(requestOf(chunks, length), 100, 10_000);
      expect(textOf(bytes)).toBe('0123456789');
      expect(rest).toBeUndefined();
    }
  });

  test('is the whole body also of a stream that has no bytes', async () => {
    const { bytes } = await readStart(requestOf(['01', '23'], 4, undefined), 100);
    expect(textOf(bytes)).toBe('0123');
  });

  test.each([
    ['the length', 10],
    ['less', 4],
    ['the limit', 5],
    ['no length', undefined],
  ])(
    'ends after the limit, and the rest can be read, if the header states %s',
    async (_, length) => {
      const { bytes, rest } = await readStart(requestOf([...'0123456789'], length), 5);
      expect(textOf(bytes)).toBe('012345');
      let left = '';
      for (;;) {
        const { done, value } = (await rest?.read()) ?? { done: true };
        if (done) break;
        left += textOf(value as Uint8Array);
      }
      expect(left).toBe('6789');
    },
  );

  test('is cancelled at its deadline', async () => {
    const cancel = vi.fn();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      type: 'bytes',
      pull: () => new Promise(() => {}),
      cancel,
    });
    const headers = new Headers({ 'content-length': '10' });
    const error: unknown = await readStart({ body, headers }, 100, 10).catch((late) => late);
    expect(isBodyTimeout(error)).toBe(true);
    await expect.poll(() => cancel.mock.calls.length).toBe(1);
  });
});

test('a small body with a length is read into a buffer of its size', async () => {
  host.fansOut = false;
  const request = requestOf(['0123456789'], 10);
  const getReader = vi.spyOn(request.body, 'getReader');
  await readStart(request, 100);
  expect(getReader.mock.calls).toEqual([[{ mode: 'byob' }]]);
});
