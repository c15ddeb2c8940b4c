import { expect, test } from 'vitest';
import { ResponseBody } from '../../../../dist/streams/bodies/response-body.js';

/** A body, and the numbers of calls of its callbacks. */
function opened() {
  const calls = { begun: 0, roomy: 0, left: 0 };
  const body = new ResponseBody({
    onOpen: () => {
      calls.begun += 1;
    },
    onRoom: () => {
      calls.roomy += 1;
    },
    onDisconnect: () => {
      calls.left += 1;
    },
  });
  expect(body).toMatchObject({ hasRoom: false });
  const reader = (body.response().body as ReadableStream<Uint8Array>).getReader();
  expect(body).toMatchObject({ hasRoom: true });
  return { body, reader, calls };
}

const chunk = (byte: number) => Uint8Array.of(byte);

test('buffers one chunk beside what its reader requests', async () => {
  const { body, reader } = opened();
  body.write(chunk(1));
  expect(body.hasRoom).toBe(false);
  expect((await reader.read()).value).toEqual(chunk(1));
  expect(body.hasRoom).toBe(true);
  const asked = reader.read();
  body.write(chunk(2));
  expect(body.hasRoom).toBe(true);
  body.write(chunk(3));
  expect(body.hasRoom).toBe(false);
  expect([(await asked).value, (await reader.read()).value]).toEqual([chunk(2), chunk(3)]);
});

test('calls roomy once it is awaited and has room again', async () => {
  const { body, reader, calls } = opened();
  await Promise.resolve();
  expect(calls).toEqual({ begun: 1, roomy: 1, left: 0 });
  for (let byte = 0; byte < 10; byte += 1) {
    const asked = reader.read();
    body.write(chunk(byte));
    await asked;
  }
  expect(calls.roomy).toBe(1);
  body.write(chunk(10));
  body.awaitRoom();
  await new Promise(setImmediate);
  expect(calls.roomy).toBe(1);
  await reader.read();
  await new Promise(setImmediate);
  expect(calls.roomy).toBe(2);
});

test('calls left when its reader cancels, and refuses later writes', async () => {
  const { body, reader, calls } = opened();
  await reader.cancel();
  expect(calls.left).toBe(1);
  expect(body.hasRoom).toBe(false);
  body.close();
  expect(() => body.write(chunk(1))).toThrow(TypeError);
});

test('closes once', async () => {
  const { body, reader } = opened();
  body.write(chunk(1));
  body.close();
  body.close();
  expect((await reader.read()).value).toEqual(chunk(1));
  expect((await reader.read()).done).toBe(true);
});
