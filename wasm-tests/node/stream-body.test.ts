import { expect, test } from 'vitest';
import { ResponseBody } from '../../dist/streams/bodies/response-body.js';

/** A body, and how often it told that there is room. */
function opened() {
  const told = { begun: 0, roomy: 0, left: 0 };
  const body = new ResponseBody({
    onOpen: () => {
      told.begun += 1;
    },
    onRoom: () => {
      told.roomy += 1;
    },
    onDisconnect: () => {
      told.left += 1;
    },
  });
  expect(body).toMatchObject({ isOpen: false, hasRoom: false });
  const reader = (body.response().body as ReadableStream<Uint8Array>).getReader();
  expect(body).toMatchObject({ isOpen: true, hasRoom: true });
  return { body, reader, told };
}

const chunk = (byte: number) => Uint8Array.of(byte);

test('takes one chunk beside what its reader asks for', async () => {
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

test('tells nothing while it has room, and who awaits it is told once there is some', async () => {
  const { body, reader, told } = opened();
  await Promise.resolve();
  expect(told).toEqual({ begun: 1, roomy: 1, left: 0 });
  for (let byte = 0; byte < 10; byte += 1) {
    const asked = reader.read();
    body.write(chunk(byte));
    await asked;
  }
  expect(told.roomy).toBe(1);
  body.write(chunk(10));
  body.awaitRoom();
  await new Promise(setImmediate);
  expect(told.roomy).toBe(1);
  await reader.read();
  await new Promise(setImmediate);
  expect(told.roomy).toBe(2);
});

test('a reader that leaves is told of, and what comes after is nothing', async () => {
  const { body, reader, told } = opened();
  await reader.cancel();
  expect(told.left).toBe(1);
  expect(body.hasRoom).toBe(false);
  body.close();
  expect(() => body.write(chunk(1))).toThrow(TypeError);
});

test('is closed once', async () => {
  const { body, reader } = opened();
  body.write(chunk(1));
  body.close();
  body.close();
  expect((await reader.read()).value).toEqual(chunk(1));
  expect((await reader.read()).done).toBe(true);
});
