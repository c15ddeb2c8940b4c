import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { ChunkedResponse } from '../../../bench/over-http/client/chunked.ts';
import { Readers } from '../../../bench/over-http/client/readers.ts';
import { portOf } from '../../host/port.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('the client of the benchmarks', () => {
  test('decodes a chunked body wherever it is split', () => {
    const wire = Buffer.from(`${HEAD}5\r\nfirst\r\n1\r\n\n\r\n6;x=y\r\nsecond\r\n0\r\n\r\n`);
    for (let cut = 0; cut <= wire.length; cut += 1) {
      const { body, response } = decoded(wire.subarray(0, cut), wire.subarray(cut));
      expect(body()).toBe('first\nsecond');
      expect(response).toMatchObject({ status: 200, isEnded: true });
    }
  });

  test('reads the status of a refusal', () => {
    const { response } = decoded(Buffer.from('HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno'));
    expect(response).toMatchObject({ status: 503, isEnded: true });
  });
});

describe('readers over the network', () => {
  test.each(['\n', '\r\n'])(
    'counts events and skips comments where lines end with %j',
    async (end) => {
      const readers = await opened(end, [event('a'), ': alive', event('b')]);
      expect(() => readers.verify(2, 'b')).not.toThrow();
    },
  );

  test.each([
    ['an event is missing', [event('b')], 'got 1 events, not 2'],
    ['there is one event too many', [event('a'), event('a'), event('b')], 'got 3 events, not 2'],
    ['the last event is a different one', [event('b'), event('a')], 'not with b'],
    ['the last event is incomplete', [event('a'), event('b').slice(0, -1)], 'not with b'],
  ])('fails where %s', async (_, events, complaint) => {
    const readers = await opened('\n', events);
    expect(() => readers.verify(2, 'b')).toThrow(complaint);
  });
});

let stop = (): void => {};
afterEach(() => stop());

/** Opens one stream at a server that acknowledges it and then sends these blocks. */
async function opened(end: string, blocks: string[]): Promise<Readers> {
  const framed = (text: string) => `${text.replaceAll('\n', end)}${end}${end}`;
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  let connected: Socket | undefined;
  const server = createServer((socket) => {
    connected = socket;
    socket.on('error', () => {});
    socket.write(HEAD + chunk(framed(event('ack'))));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const readers = new Readers();
  stop = () => {
    readers.drop();
    server.close();
  };
  await readers.open(new URL(`http://127.0.0.1:${portOf(server)}/mcp`), '{}', 1);
  connected?.write(chunk(blocks.map(framed).join('')));
  await readers.until(({ last }) => !last.includes('ack'));
  return readers;
}

function event(uri: string): string {
  return `event: message\ndata: {"uri":"${uri}"}`;
}

function decoded(...pieces: Buffer[]) {
  const parts: string[] = [];
  const response = new ChunkedResponse((part) => parts.push(part.toString()));
  for (const piece of pieces) response.take(piece);
  return { response, body: () => parts.join('') };
}
