import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterEach, describe, expect, test } from 'vitest';
import { pause } from '../host/pause.ts';
import { waitsOf } from '../host/processor.ts';
import { type BrokerProcess, startNats, startRedis } from './brokers/broker-process.ts';
import { Cleanup } from './cleanup.ts';
import { Member } from './members/member.ts';

const cleanup = new Cleanup();

afterEach(() => cleanup.run());

describe.each([
  ['redis', 'a Redis that keeps nothing', () => startRedis(), ['tools/list_changed', 'note://a']],
  ['nats', 'a NATS that keeps its log', () => startNats(true), []],
  ['nats', 'a NATS that keeps nothing', () => startNats(false), ['tools/list_changed', 'note://a']],
] as const)('two processes on %s: %s', (kind, _, start, afterwards) => {
  test('receive from each other, also after a kill of the broker, and exit once closed', async () => {
    const broker = await started(start);
    const [listener, publisher] = await members(kind, broker.port);
    await expectDelivery(listener, publisher);
    await broker.kill();
    publisher.send('publish note://a');
    expect(await publisher.line()).toBe('bus-unavailable');
    await broker.start();
    for (const line of afterwards) expect(await listener.line()).toBe(line);
    await expectDelivery(listener, publisher);
    await expectExit(listener, publisher);
  });
});

describe('a process that was stopped', () => {
  test('is resynced when NATS has cut it off as a slow consumer', async () => {
    const nats = await started(() => startNats(false, ['-c', IMPATIENT]));
    const [listener, publisher] = await members('nats', nats.port);
    await expectCuesAfter('flood 150 100', listener, publisher);
    listener.send('stats');
    expect(JSON.parse((await listener.line()) ?? '')).toMatchObject({
      isLive: true,
      outages: 1,
      gaps: 1,
    });
  });

  test('is resynced when the window of Redis has passed', async () => {
    const redis = await started(startRedis);
    const [listener, publisher] = await members('redis', redis.port);
    await expectCuesAfter('flood 2000 1', listener, publisher);
  });

  test('is resynced when JetStream has dropped events, although no other event follows', async () => {
    const nats = await started(() => startNats(true));
    const connection = await connect({ servers: `127.0.0.1:${nats.port}` });
    cleanup.later(connection, (it) => it.close());
    const { streams } = await jetstreamManager(connection);
    const name = 'mcp-listen';
    await streams.add({ name, subjects: [name], max_age: 1_000_000_000 });
    const [listener, publisher] = await members('nats', nats.port);
    const isEmpty = async () => (await streams.info(name)).state.messages === 0;
    const waits = async (): Promise<number> => {
      const all = await waitsOf([process.pid, listener.pid, nats.pid]);
      return all.reduce((sum, ms) => sum + ms, 0);
    };
    let resumed = { at: 0, waited: 0 };
    // A consumer has requested at most 100 messages, which the socket keeps.
    await expectCuesAfter('flood 150 1', listener, publisher, async () => {
      await pause(3_000);
      await expect.poll(isEmpty).toBe(true);
      resumed = { waited: await waits(), at: performance.now() };
    });
    const ms = performance.now() - resumed.at;
    // At once, whatever the processes waited for a processor: the next regular check is later.
    expect(ms - ((await waits()) - resumed.waited)).toBeLessThan(4_000);
  });
});

test('two threads on a channel receive from each other, and exit once closed', async () => {
  const listener = Member.thread('channel', 'note://a');
  expect(await listener.line()).toBe('subscriptions/acknowledged');
  const publisher = Member.thread('channel');
  expect(await publisher.line()).toBe('ready');
  await expectDelivery(listener, publisher);
  await expectExit(listener, publisher);
});

async function started(start: () => Promise<BrokerProcess>): Promise<BrokerProcess> {
  return cleanup.later(await start(), (it) => it.stop());
}

/** A process that holds a stream, and one that publishes. */
async function members(kind: string, port: number): Promise<[Member, Member]> {
  const listener = cleanup.later(Member.process(kind, port, 'note://a'), (it) =>
    it.signal('SIGKILL'),
  );
  expect(await listener.line()).toBe('subscriptions/acknowledged');
  const publisher = cleanup.later(Member.process(kind, port), (it) => it.signal('SIGKILL'));
  expect(await publisher.line()).toBe('ready');
  return [listener, publisher];
}

/** Publishes one change, which the listener receives. */
async function expectDelivery(listener: Member, publisher: Member): Promise<void> {
  publisher.send('publish note://a');
  expect(await publisher.line()).toBe('published note://a');
  expect(await listener.line()).toBe('note://a');
}

/** Closes both, which then exit. */
async function expectExit(listener: Member, publisher: Member): Promise<void> {
  listener.close();
  publisher.close();
  expect(await listener.line()).toBe('result');
  expect([await listener.ended, await publisher.ended]).toEqual([0, 0]);
}

/** Publishes more than is kept for a stopped listener, which then receives a cue of each. */
async function expectCuesAfter(
  flood: string,
  listener: Member,
  publisher: Member,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  listener.signal('SIGSTOP');
  publisher.send(flood);
  expect(await publisher.line()).toBe('flooded');
  await meanwhile();
  listener.signal('SIGCONT');
  expect([await listener.line(), await listener.line()]).toEqual([
    'tools/list_changed',
    'note://a',
  ]);
}

/** Settings of a NATS that cuts slow consumers off after a moment. */
const IMPATIENT = join(import.meta.dirname, 'brokers', 'impatient.conf');
