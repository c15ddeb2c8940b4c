import { setTimeout as sleep } from 'node:timers/promises';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test } from 'vitest';
import { EventReader } from '../../host/events.ts';
import { discovering, requestOf } from './requests.ts';

/** Callers are named by their header field; rights are valid for a millisecond. */
function serving(
  authorize: (context: { principal: string | undefined }) => boolean | Promise<boolean>,
) {
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ 'order.paid': {} }, { authorize }),
    principal: (request) => request.headers.get('authorization') ?? 'unnamed',
    authorizationTtlMs: 1,
  });
  const open = (name: string) => {
    const request = requestOf('events/stream', { name: 'order.paid' }, 1);
    request.headers.set('authorization', name);
    return server.fetch(request);
  };
  return { open, server };
}

/** Reads the first notification of a stream. */
async function opened(response: Promise<Response>): Promise<EventReader> {
  const reader = new EventReader(await response);
  await reader.next();
  return reader;
}

test.each([
  ['is denied then, nothing and the end', false],
  ['is permitted then, the event', true],
])('callers receive nothing while they are authorized again; who %s', async (_, isPermitted) => {
  const asked: string[] = [];
  let decide: (isPermitted: boolean) => void = () => {};
  const decided = new Promise<boolean>((resolve) => {
    decide = resolve;
  });
  const { open, server } = serving(({ principal }) => {
    const isAgain = asked.includes(`${principal}`);
    asked.push(`${principal}`);
    return isAgain && principal === 'guest' ? decided : true;
  });
  const [guest, staff] = await Promise.all([opened(open('guest')), opened(open('staff'))]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await server.notify.event('order.paid', { number: 1 });
  expect(await staff.next()).toMatchObject({ params: { data: { number: 1 } } });
  expect(asked.filter((name) => name === 'guest')).toHaveLength(2);
  const first = guest.next();
  const early = await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 100))]);
  expect(early).toBeUndefined();
  decide(isPermitted);
  expect(await first).toMatchObject(
    isPermitted
      ? { params: { data: { number: 1 } } }
      : { method: 'notifications/events/terminated' },
  );
  await server.notify.event('order.paid', { number: 2 });
  if (isPermitted) {
    expect(await guest.next()).toMatchObject({ params: { data: { number: 2 } } });
    return;
  }
  expect(await guest.next()).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  expect(await guest.next()).toBeUndefined();
});

test('callers that read slowly get all in order, however often they are authorized again', async () => {
  let asked = 0;
  const { open, server } = serving(async () => {
    asked += 1;
    return true;
  });
  const response = await open('guest');
  for (let number = 0; number < 40; number += 1)
    await server.notify.event('order.paid', { number, filling: 'x'.repeat(50_000) });
  const reader = new EventReader(response);
  await reader.next();
  for (let number = 0; number < 40; number += 1) {
    expect(await reader.next()).toMatchObject({ params: { data: { number } } });
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  expect(asked).toBeGreaterThan(3);
});

test('a caller that gains a group while a page is read for it alone receives what is published for that group', async () => {
  let groups = ['a'];
  let asked = 0;
  const principal = () => {
    asked += 1;
    return { name: 'guest', groups };
  };
  const bus = new InMemoryBus({ events: eventLog() });
  const { events } = bus;
  if (events === undefined) throw new Error('the bus keeps no events');
  let gate: Promise<void> | undefined;
  let waiting = 0;
  const page = async (query: string): Promise<string> => {
    if (gate !== undefined) waiting += 1;
    await gate;
    return events.page(query);
  };
  Object.assign(bus, { events: { ...events, page } });
  const types = defineEvents({ 'order.paid': {} });
  const options = { bus, events: types, principal, authorizationTtlMs: 1 };
  const server = createListenHandler(discovering, options);
  const publish = (number: number, group?: string) =>
    server.notify.event('order.paid', { number }, group === undefined ? {} : { group });
  const reader = new EventReader(
    await server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1)),
  );
  const received: unknown[] = [];
  const next = async (): Promise<void> => {
    const message = (await reader.next()) as { params: { data?: { number: number } } } | undefined;
    if (message?.params.data !== undefined) received.push(message.params.data.number);
  };
  await next();
  // Its client does not read: it falls behind, and reads its own pages.
  for (const number of [1, 2, 3]) {
    await publish(number);
    await sleep(20);
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  await next();
  await expect.poll(() => waiting).toBeGreaterThan(0);
  groups = ['a', 'b'];
  const before = asked;
  await publish(4);
  await expect.poll(() => asked).toBeGreaterThan(before);
  await sleep(20);
  await publish(5, 'b');
  gate = undefined;
  resolve();
  await publish(6);
  while (received.at(-1) !== 6) await next();
  expect(received).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a stream that is behind receives events whose match takes longer than an authorization is valid', async () => {
  let asked = 0;
  let matchMs = 0;
  const match = async (): Promise<boolean> => {
    await sleep(matchMs);
    return true;
  };
  const principal = (): { name: string; groups: string[] } => {
    asked += 1;
    return { name: 'guest', groups: asked % 2 === 0 ? ['a', 'b'] : ['b', 'a'] };
  };
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: eventLog() }),
    events: defineEvents({ 'order.paid': { match } }),
    principal,
    authorizationTtlMs: 20,
  });
  const publish = (number: number) => server.notify.event('order.paid', { number });
  const reader = await opened(server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1)));
  // Its client does not read: it falls behind, and reads its own pages.
  for (const number of [0, 1, 2]) {
    await publish(number);
    await sleep(20);
  }
  matchMs = 75;
  const received: unknown[] = [];
  const reading = (async () => {
    while (received.length < 6) received.push((await reader.next())?.params['data']);
  })();
  // Before the time of the test is over, so that its assertion shows what is missing.
  const deadline = performance.now() + 25_000;
  for (let number = 3; received.length < 6 && performance.now() < deadline; number += 1) {
    await publish(number);
    await sleep(10);
  }
  expect(received).toEqual([0, 1, 2, 3, 4, 5].map((number) => ({ number })));
  await reading;
  expect(asked).toBeGreaterThan(3);
});

test.each([
  ['once it is permitted again', true],
  ['never if it is denied then', false],
])(
  'a page that is matched while the authorization of its caller lapses is sent %s',
  async (_, isPermitted) => {
    let decided: Promise<boolean> | true = true;
    let gate: Promise<void> | undefined;
    let waiting = 0;
    const match = async (): Promise<boolean> => {
      if (gate !== undefined) waiting += 1;
      await gate;
      return true;
    };
    const server = createListenHandler(discovering, {
      bus: new InMemoryBus({ events: eventLog() }),
      events: defineEvents({ 'order.paid': { match } }, { authorize: () => decided }),
      principal: () => 'guest',
      authorizationTtlMs: 500,
      timeouts: { authorizeMs: 0 },
    });
    const publish = (number: number) => server.notify.event('order.paid', { number });
    const reader = await opened(
      server.fetch(requestOf('events/stream', { name: 'order.paid' }, 1)),
    );
    // Its client does not read: it falls behind, and reads its own pages.
    for (const number of [0, 1, 2]) {
      await publish(number);
      await sleep(5);
    }
    const matched = Promise.withResolvers<void>();
    gate = matched.promise;
    expect(await reader.next()).toMatchObject({ params: { data: { number: 0 } } });
    await expect.poll(() => waiting).toBeGreaterThan(0);
    const decision = Promise.withResolvers<boolean>();
    decided = decision.promise;
    await sleep(600);
    gate = undefined;
    matched.resolve();
    const next = reader.next();
    expect(await Promise.race([next, sleep(100)])).toBeUndefined();
    decision.resolve(isPermitted);
    expect(await next).toMatchObject(
      isPermitted
        ? { params: { data: { number: 1 } } }
        : { method: 'notifications/events/terminated' },
    );
  },
);

test.each([
  ['once it is permitted again', true],
  ['never if it is denied then', false],
])(
  'a first page that is matched while the authorization of its caller lapses is sent %s',
  async (_, isPermitted) => {
    let decided: Promise<boolean> | true = true;
    const matched = Promise.withResolvers<void>();
    const match = async (): Promise<boolean> => {
      await matched.promise;
      return true;
    };
    const server = createListenHandler(discovering, {
      bus: new InMemoryBus({ events: eventLog() }),
      events: defineEvents({ 'order.paid': { match } }, { authorize: () => decided }),
      principal: () => 'guest',
      authorizationTtlMs: 200,
      timeouts: { authorizeMs: 0 },
      onError: () => {},
    });
    const poll = requestOf('events/poll', { name: 'order.paid', cursor: null }, 1);
    const { result } = (await (await server.fetch(poll)).json()) as { result: { cursor: string } };
    await server.notify.event('order.paid', { number: 1 });
    const params = { name: 'order.paid', cursor: result.cursor };
    const opening = server.fetch(requestOf('events/stream', params, 1));
    const decision = Promise.withResolvers<boolean>();
    await sleep(20);
    decided = decision.promise;
    await sleep(300);
    matched.resolve();
    expect(await Promise.race([opening, sleep(100)])).toBeUndefined();
    decision.resolve(isPermitted);
    const response = await opening;
    if (!isPermitted) {
      expect(await response.text()).toContain('"error"');
      return;
    }
    const reader = new EventReader(response);
    await reader.next();
    expect(await reader.next()).toMatchObject({ params: { data: { number: 1 } } });
  },
);
