import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type BrokerProcess, startNats, startRedis } from './broker-process.ts';
import { Cleanup } from './cleanup.ts';
import { Member } from './member.ts';

const cleanup = new Cleanup();

afterEach(() => cleanup.run());

describe.each([
  ['redis', 'a Redis that keeps nothing', () => startRedis(), ['tools/list_changed', 'note://a']],
  ['nats', 'a NATS that keeps its log', () => startNats(true), []],
  ['nats', 'a NATS that keeps nothing', () => startNats(false), ['tools/list_changed', 'note://a']],
] as const)('two processes on %s: %s', (kind, _, start, afterwards) => {
  test('hear each other, over the death of the broker, and end when they have closed', async () => {
    const broker = await started(start);
    const [listener, publisher] = await members(kind, broker.port);
    publisher.tell('publish note://a');
    expect(await publisher.said()).toBe('published note://a');
    expect(await listener.said()).toBe('note://a');
    await broker.kill();
    publisher.tell('publish note://a');
    expect(await publisher.said()).toBe('bus-unavailable');
    await broker.start();
    for (const told of afterwards) expect(await listener.said()).toBe(told);
    publisher.tell('publish note://a');
    expect(await publisher.said()).toBe('published note://a');
    expect(await listener.said()).toBe('note://a');
    listener.close();
    publisher.close();
    expect(await listener.said()).toBe('result');
    expect([await listener.ended, await publisher.ended]).toEqual([0, 0]);
  });
});

describe('a process that stood still', () => {
  test('hears of everything when NATS has cut it off for being slow', async () => {
    const nats = await started(() => startNats(false, ['-c', IMPATIENT]));
    const [listener, publisher] = await members('nats', nats.port);
    listener.signal('SIGSTOP');
    publisher.tell('flood 150 100');
    expect(await publisher.said()).toBe('flooded');
    listener.signal('SIGCONT');
    expect([await listener.said(), await listener.said()]).toEqual([
      'tools/list_changed',
      'note://a',
    ]);
    listener.tell('stats');
    expect(JSON.parse((await listener.said()) ?? '')).toMatchObject({
      isLive: true,
      outages: 1,
      gaps: 1,
    });
  });

  test('hears of everything when the window of Redis has passed it by', async () => {
    const redis = await started(startRedis);
    const [listener, publisher] = await members('redis', redis.port);
    listener.signal('SIGSTOP');
    publisher.tell('flood 2000 1');
    expect(await publisher.said()).toBe('flooded');
    listener.signal('SIGCONT');
    expect([await listener.said(), await listener.said()]).toEqual([
      'tools/list_changed',
      'note://a',
    ]);
  });
});

test('two threads on a channel hear each other, and end when they have closed', async () => {
  const listener = Member.thread('channel', 'note://a');
  expect(await listener.said()).toBe('subscriptions/acknowledged');
  const publisher = Member.thread('channel');
  expect(await publisher.said()).toBe('ready');
  publisher.tell('publish note://a');
  expect(await publisher.said()).toBe('published note://a');
  expect(await listener.said()).toBe('note://a');
  listener.close();
  publisher.close();
  expect(await listener.said()).toBe('result');
  expect([await listener.ended, await publisher.ended]).toEqual([0, 0]);
});

async function started(start: () => Promise<BrokerProcess>): Promise<BrokerProcess> {
  return cleanup.later(await start(), (it) => it.stop());
}

/** One that holds a stream, and one that publishes. */
async function members(kind: string, port: number): Promise<[Member, Member]> {
  const listener = cleanup.later(Member.process(kind, port, 'note://a'), (it) =>
    it.signal('SIGKILL'),
  );
  expect(await listener.said()).toBe('subscriptions/acknowledged');
  const publisher = cleanup.later(Member.process(kind, port), (it) => it.signal('SIGKILL'));
  expect(await publisher.said()).toBe('ready');
  return [listener, publisher];
}

/** Settings of a NATS that cuts off whoever takes nothing for a moment. */
const IMPATIENT = join(import.meta.dirname, 'impatient.conf');
