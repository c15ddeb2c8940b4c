import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { InMemoryBus } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { createClient } from 'redis';
import type { BusRig, ClosableRig, CutRig, MortalRig, OpenRig } from '../../../dist/testing/rig.js';
import { placeOn } from '../members/place.ts';
import { type BrokerProcess, startNats, startRedis, startValkey } from './broker-process.ts';
import { BrokerProxy } from './broker-proxy.ts';

/** A bus over a broker, which a test can cut, kill and close. */
export type BrokerRig = OpenRig & CutRig & MortalRig & ClosableRig;

/** The in-memory bus of one process. */
export async function memoryRig(): Promise<BusRig> {
  const place = placeOn(new InMemoryBus({ onError: () => {} }));
  return { here: place, there: place, stop: async () => {} };
}

/** Two buses on one channel, as in two threads. */
export async function channelRig(): Promise<OpenRig & ClosableRig> {
  const [here, there] = [broadcastChannelBus(QUIET), broadcastChannelBus(QUIET)];
  const stranger = new BroadcastChannel('mcp-listen');
  return {
    ...rigOf(here, there),
    garbage: async (text) => stranger.postMessage(text),
    async stop() {
      stranger.close();
      await Promise.all([here.close(), there.close()]);
    },
  };
}

/** Two buses over one Redis; the second connects through a proxy. */
export async function redisRig(): Promise<BrokerRig> {
  return rigOn(await startRedis(), (port) => `redis://127.0.0.1:${port}`);
}

/** Two buses with the client `ioredis` over one Valkey; the second connects through a proxy. */
export async function valkeyRig(): Promise<BrokerRig> {
  return rigOn(await startValkey(), (port) => new Redis(port, { lazyConnect: true }));
}

function rigOn(
  server: BrokerProcess,
  clientOf: (port: number) => string | Redis,
): Promise<BrokerRig> {
  const client = createClient({});
  return brokerRig(
    server,
    (port) => redisBus(clientOf(port), QUIET),
    async (port, text) => {
      const writer = client.duplicate({ url: `redis://127.0.0.1:${port}` });
      await writer.connect();
      await writer.xAdd('mcp-listen', '*', { events: text });
      await writer.close();
    },
  );
}

/** Two buses over one NATS; the second connects through a proxy. */
export async function natsRig(hasJetStream: boolean): Promise<BrokerRig> {
  const bus = (port: number) => natsBus(`nats://127.0.0.1:${port}`, QUIET);
  return brokerRig(await startNats(hasJetStream), bus, async (port, text) => {
    const connection = await connect({ servers: `127.0.0.1:${port}` });
    connection.publish('mcp-listen', text);
    await connection.drain();
  });
}

async function brokerRig(
  broker: BrokerProcess,
  make: (port: number) => ProcessBus,
  garbage: (port: number, text: string) => Promise<void>,
): Promise<BrokerRig> {
  const proxy = await BrokerProxy.before(broker.port);
  const [here, there] = [make(broker.port), make(proxy.port)];
  return {
    ...rigOf(here, there),
    garbage: (text) => garbage(broker.port, text),
    async absence(meanwhile) {
      proxy.shut();
      await meanwhile();
      proxy.open();
    },
    async loss(meanwhile) {
      await broker.kill();
      await meanwhile();
      await broker.forget();
      await broker.start();
    },
    async stop() {
      await Promise.all([here.close(), there.close()]);
      proxy.stop();
      await broker.stop();
    },
  };
}

function rigOf(here: ProcessBus, there: ProcessBus) {
  return {
    here: placeOn(here),
    there: placeOn(there),
    dropped: async () => there.stats().dropped,
    close: () => there.close(),
  };
}

const QUIET = { onError: () => {} };
