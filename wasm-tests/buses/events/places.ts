import { Redis } from 'ioredis';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { type EventLogOptions, eventLog } from 'mcp-listen/events';
import { natsBus } from 'mcp-listen/nats';
import { type ProcessBus, redisBus } from 'mcp-listen/redis';
import { expect } from 'vitest';
import { EventPlace } from '../../host/bus/event-place.ts';
import type { EventReader } from '../../host/events.ts';
import {
  type BrokerProcess,
  startNats,
  startRedis,
  startValkey,
} from '../brokers/broker-process.ts';
import type { Cleanup } from '../cleanup.ts';

/** Creates the bus of a process, over the broker on a port. */
export type MakeBus = (port: number, log?: EventLogOptions) => ProcessBus;

export const QUIET = { onError: () => {} };
export const redis: MakeBus = (port, log) =>
  redisBus(`redis://127.0.0.1:${port}`, { ...QUIET, events: eventLog(log) });
const ioredis: MakeBus = (port, log) =>
  redisBus(new Redis(port, { lazyConnect: true }), { ...QUIET, events: eventLog(log) });
export const jetStream: MakeBus = (port, log) =>
  natsBus(`nats://127.0.0.1:${port}`, { ...QUIET, events: eventLog(log) });
export const core: MakeBus = (port) =>
  natsBus(`nats://127.0.0.1:${port}`, { ...QUIET, events: eventLog(), jetStream: false });
export const channel: MakeBus = () => broadcastChannelBus({ ...QUIET, events: eventLog() });

/** The buses that keep occurrences, each with what starts its broker. */
export const KEEPING = [
  ['Redis', redis, () => startRedis(true)],
  ['Valkey with ioredis', ioredis, () => startValkey(true)],
  ['JetStream', jetStream, () => startNats(true)],
] as const;

/** The processes of a test. */
export class Places {
  readonly #cleanup: Cleanup;

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
  }

  /** Starts a process on the broker of a port. */
  on(make: MakeBus, port: number, log?: EventLogOptions): EventPlace {
    return new EventPlace(this.#cleanup.later(make(port, log), (it) => it.close()));
  }

  /** Waits for a broker, which stops after the test. */
  async started(broker: Promise<BrokerProcess>): Promise<BrokerProcess> {
    return this.#cleanup.later(await broker, (it) => it.stop());
  }
}

/** Returns the next occurrences of a stream. */
export async function eventsOf(stream: EventReader, count: number) {
  const events: { eventId: string; cursor: string; data: { number: number } }[] = [];
  while (events.length < count) {
    const message = await stream.next();
    expect(message).toMatchObject({ method: 'notifications/events/event' });
    events.push(message?.params as never);
  }
  return events;
}
