import {
  type BusAttachment,
  type BusLink,
  InMemoryBus,
  type Joining,
  type ListenBus,
  type SubscriptionFilter,
} from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { ListenError } from '../../dist/error.js';
import { listChanged } from '../host/listen.ts';
import { open, RESULT, serving, TOOLS } from './serving.ts';

/** A bus whose first attachment speaks for many streams; later ones are of one stream. */
class SharingBus implements ListenBus {
  readonly inner = new InMemoryBus();
  readonly sessions = this.inner.sessions;
  readonly publish = this.inner.publish.bind(this.inner);
  readonly publishAll = this.inner.publishAll.bind(this.inner);
  readonly subscribe = this.inner.subscribe.bind(this.inner);
  readonly links: BusLink[] = [];
  /** What is to be done on behalf of the request of the stream. */
  readonly errands: (() => void)[] = [];
  /** Whether it is done at once, as on a host that knows of no requests. */
  isAtHome = false;
  settled: () => void = () => {};

  attach(_filter: SubscriptionFilter, link: BusLink, _joining?: Joining): BusAttachment {
    this.links.push(link);
    if (this.links.length > 1) return { detach: () => {}, again: () => queueMicrotask(() => this.replay(link)) };
    link.receive(attached('line', 0));
    return { isCertain: true, home: { ask: (errand) => this.#do(errand) }, detach: () => {} };
  }

  #do(errand: () => void): void {
    if (this.isAtHome) errand();
    else this.errands.push(errand);
  }

  /** Answers a question, after what the former answer replays. */
  replay(link: BusLink): void {
    link.receive(changed(1, 0));
    link.receive(attached('bus', 0, 1));
    link.receive(changed(1, 0));
  }

  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.settled = resolve;
    });
  }
}

test('a stream that goes on alone while its server closes receives what its own connection replays', async () => {
  const bus = new SharingBus();
  const server = serving({ bus });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  const closed = server.close();
  await new Promise(setImmediate);
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  bus.links[0]?.lost(new ListenError('bus-full', 'there is no room'), '0-bus');
  await vi.waitFor(() => expect(bus.links).toHaveLength(2));
  random.mockRestore();
  // What it replays is on its way.
  bus.links[1]?.receive(attached('bus', 0, 1));
  bus.settled();
  await closed;
  const messages: (string | undefined)[] = [];
  while (messages.at(-1) !== RESULT) messages.push(await stream.message());
  expect(messages[0]).toBe(listChanged('1', 'tools'));
});

test('a chunk that waits for the request of its stream is written before what is left at a close', async () => {
  const bus = new SharingBus();
  const server = serving({ bus });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  const reading = stream.message();
  await new Promise(setImmediate);
  const enqueue = vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue');
  enqueue.mockImplementationOnce(() => {
    throw new Error('of another request');
  });
  expect(() => bus.links[0]?.receive(changed(1, 0))).toThrow('of another request');
  const closed = server.close();
  bus.settled();
  await new Promise(setImmediate);
  for (const errand of bus.errands.splice(0)) errand();
  await new Promise(setImmediate);
  for (const errand of bus.errands.splice(0)) errand();
  await closed;
  expect([await reading, await stream.message()]).toEqual([listChanged('1', 'tools'), RESULT]);
  enqueue.mockRestore();
});

test('a drain waits for what is on its way to a stream, which ends without a result', async () => {
  const bus = new SharingBus();
  bus.isAtHome = true;
  const server = serving({ bus });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  const asked = vi.spyOn(bus, 'settle');
  const drained = server.drain({ windowMs: 0 });
  await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce());
  bus.links[0]?.receive(changed(1, 0));
  bus.settled();
  expect([await stream.message(), await stream.message()]).toEqual([listChanged('1', 'tools'), undefined]);
  await drained;
});

test('a drain waits a second for a bus that does not answer', async () => {
  const bus = new SharingBus();
  bus.isAtHome = true;
  const server = serving({ bus });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  const began = performance.now();
  await server.drain({ windowMs: 0 });
  expect(await stream.message()).toBeUndefined();
  const waited = performance.now() - began;
  expect(waited).toBeGreaterThanOrEqual(1_000);
  expect(waited).toBeLessThan(5_000);
  expect(server.stats().ended).toMatchObject({ drained: 1, aborted: 0 });
});

test('a stream with a connection of its own asks there before it ends by a drain', async () => {
  const bus = new SharingBus();
  bus.isAtHome = true;
  const server = serving({ bus });
  await open(server, TOOLS);
  const opening = open(server, TOOLS);
  await vi.waitFor(() => expect(bus.links).toHaveLength(2));
  bus.links[1]?.receive(attached('bus', 0));
  const stream = await opening;
  expect(await stream.message()).toContain('acknowledged');
  const asked = vi.spyOn(bus, 'settle');
  const drained = server.drain({ windowMs: 0 });
  await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce());
  bus.settled();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  while ((await stream.message()) !== undefined);
  await drained;
  expect(server.stats().ended).toMatchObject({ drained: 2, aborted: 0 });
});

function attached(epoch: string, position: number, head = position): string {
  return JSON.stringify({ v: 1, type: 'attached', epoch, position, head });
}

function changed(position: number, previous: number): string {
  return JSON.stringify({ v: 1, type: 'event', position, previous, event: { kind: 'tools_list_changed' } });
}
