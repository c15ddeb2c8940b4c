import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
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
    publisher.send('publish note://a');
    expect(await publisher.line()).toBe('published note://a');
    expect(await listener.line()).toBe('note://a');
    await broker.kill();
    publisher.send('publish note://a');
    expect(await publisher.line()).toBe('bus-unavailable');
    await broker.start();
    for (const line of afterwards) expect(await listener.line()).toBe(line);
    publisher.send('publish note://a');
    expect(await publisher.line()).toBe('published note://a');
    expect(await listener.line()).toBe('note://a');
    listener.close();
    publisher.close();
    expect(await listener.line()).toBe('result');
    expect([await listener.ended, await publisher.ended]).toEqual([0, 0]);
  });
});

describe('a process that was stopped', () => {
  test('is cued for everything when NATS has cut it off as a slow consumer', async () => {
    const nats = await started(() => startNats(false, ['-c', IMPATIENT]));
    const [listener, publisher] = await members('nats', nats.port);
    listener.signal('SIGSTOP');
    publisher.send('flood 150 100');
    expect(await publisher.line()).toBe('flooded');
    listener.signal('SIGCONT');
    expect([await listener.line(), await listener.line()]).toEqual([
      'tools/list_changed',
      'note://a',
    ]);
    listener.send('stats');
    expect(JSON.parse((await listener.line()) ?? '')).toMatchObject({
      isLive: true,
      outages: 1,
      gaps: 1,
    });
  });

  test('is cued for everything when the window of Redis has passed', async () => {
    const redis = await started(startRedis);
    const [listener, publisher] = await members('redis', redis.port);
    listener.signal('SIGSTOP');
    publisher.send('flood 2000 1');
    expect(await publisher.line()).toBe('flooded');
    listener.signal('SIGCONT');
    expect([await listener.line(), await listener.line()]).toEqual([
      'tools/list_changed',
      'note://a',
    ]);
  });
});

test('two threads on a channel receive from each other, and exit once closed', async () => {
  const listener = Member.thread('channel', 'note://a');
  expect(await listener.line()).toBe('subscriptions/acknowledged');
  const publisher = Member.thread('channel');
  expect(await publisher.line()).toBe('ready');
  publisher.send('publish note://a');
  expect(await publisher.line()).toBe('published note://a');
  expect(await listener.line()).toBe('note://a');
  listener.close();
  publisher.close();
  expect(await listener.line()).toBe('result');
  expect([await listener.ended, await publisher.ended]).toEqual([0, 0]);
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

/** Settings of a NATS that cuts slow consumers off after a moment. */
const IMPATIENT = join(import.meta.dirname, 'brokers', 'impatient.conf');
