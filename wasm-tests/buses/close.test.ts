import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SETTLE_MS } from '../../dist/model/timeouts.js';
import { acknowledged, listChanged } from '../host/listen.ts';
import { portOf } from '../host/port.ts';
import { listenRequest, messagesOf, RESULT, serving } from '../node/serving.ts';
import { type BrokerProcess, startNats, startRedis } from './brokers/broker-process.ts';

const LISTS = { toolsListChanged: true, promptsListChanged: true };
const QUIET = { onError: () => {} };

const BROKERS: [
  name: string,
  start: () => Promise<BrokerProcess>,
  busOf: (port: number) => ProcessBus,
][] = [
  ['Redis', startRedis, (port) => redisBus(`redis://127.0.0.1:${port}`, QUIET)],
  ['JetStream', () => startNats(true), (port) => natsBus(`nats://127.0.0.1:${port}`, QUIET)],
  [
    'NATS without JetStream',
    () => startNats(false),
    (port) => natsBus(`nats://127.0.0.1:${port}`, QUIET),
  ],
];

describe.each(BROKERS)('closing a server on %s', (_, start, busOf) => {
  test('first receives what another process has published', async () => {
    const { here, there } = await buses();
    let received = 0;
    there.subscribe(() => {
      received += 1;
    });
    for (let [rounds, late] = [0, 0]; rounds < 20; ) {
      const server = serving({ bus: there, ...QUIET });
      const response = await server.fetch(listenRequest(LISTS));
      const before = received;
      await here.publish({ kind: 'tools_list_changed' });
      const since = performance.now();
      await server.close();
      const ms = performance.now() - since;
      const messages = await messagesOf(response);
      // Otherwise the stream of the next round may receive it.
      await expect.poll(() => received).toBeGreaterThan(before);
      // What the broker does not confirm in time counts as lost.
      if (ms > SETTLE_MS - 10) {
        late += 1;
        expect(late, 'rounds in which the broker confirms too late').toBeLessThanOrEqual(20);
        continue;
      }
      rounds += 1;
      expect(messages).toEqual([acknowledged('1', LISTS), listChanged('1', 'tools'), RESULT]);
    }
  });

  test('resyncs where the broker is unavailable, and sends no result to a named principal', async () => {
    const { broker, there } = await buses();
    const server = serving({ bus: there, ...QUIET });
    const named = serving({ bus: there, principal: () => 'ann', ...QUIET });
    const [unnamed, ofAnn] = await Promise.all(
      [server, named].map(({ fetch }) => fetch(listenRequest(LISTS))),
    );
    await broker.kill();
    await expect.poll(() => there.stats().isLive).toBe(false);
    await Promise.all([server.close(), named.close()]);
    const all = ['tools', 'prompts'].map((list) => listChanged('1', list as 'tools'));
    expect(await messagesOf(unnamed as Response)).toEqual([
      acknowledged('1', LISTS),
      ...all,
      RESULT,
    ]);
    expect(await messagesOf(ofAnn as Response)).not.toContain(RESULT);
    expect(named.stats().ended).toMatchObject({ closed: 0, denied: 1 });
  });

  async function buses(): Promise<Buses> {
    const broker = await start();
    const [here, there] = [busOf(broker.port), busOf(broker.port)];
    onTestFinished(async () => {
      await Promise.all([here.close(), there.close()]);
      await broker.stop();
    });
    await Promise.all([here.ready(), there.ready()]);
    return { broker, here, there };
  }
});

test('a bus closes while it connects to a NATS that does not respond, and keeps no connection', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => void silent.close());
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const bus = natsBus({ servers: `127.0.0.1:${portOf(silent)}`, timeout: 30_000 }, QUIET);
  const ready = bus.ready();
  await expect.poll(() => sockets.length).toBe(1);
  await bus.close();
  await expect(ready).rejects.toMatchObject({ code: 'bus-lost' });
  const [socket] = sockets as [Socket];
  const closed = once(socket, 'close');
  // Now the server does respond, as one that has just started.
  socket.write(`INFO ${JSON.stringify({ version: '2.10.0', max_payload: 1_048_576 })}\r\n`);
  socket.on('data', (data) => {
    if (data.includes('PING')) socket.write('PONG\r\n');
  });
  await closed;
});

interface Buses {
  broker: BrokerProcess;
  here: ProcessBus;
  there: ProcessBus;
}
