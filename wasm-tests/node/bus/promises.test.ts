import { setTimeout as pause } from 'node:timers/promises';
import { type BrokerListener, brokerBus, type ProcessBus } from 'mcp-listen';
import { busTests } from 'mcp-listen/testing';
import { expect, test } from 'vitest';
import { hubBroker } from '../../package/project/hub.mjs';

/** How a hub breaks the promises of a bus. */
interface Flaw {
  /** Returns the events of a publish that are delivered. */
  carry?: (events: string) => string[];
  /** Whether a closed bus stays open. */
  neverCloses?: boolean;
  /** Whether a publish takes a while. */
  isSlow?: boolean;
}

/** The brokers of processes that share a hub. */
function hub({ carry = (events) => [events], isSlow = false, neverCloses = false }: Flaw = {}) {
  const listeners = new Set<BrokerListener>();
  const publish = async (events: string) => {
    if (isSlow) await pause(1);
    for (const carried of carry(events))
      for (const listener of listeners) listener.onEvents(carried);
  };
  const makeBus = () => {
    const bus = brokerBus(hubBroker(listeners, publish), { onError: () => {}, wanted: {} });
    return neverCloses ? Object.assign(bus, { close: async () => {} }) : bus;
  };
  return { makeBus, publish };
}

const sound = hub();
const promises = busTests('a hub', sound.makeBus, {
  counts: true,
  garbage: sound.publish,
});

test('every promise is a sentence about the bus', () => {
  expect(promises).toHaveLength(8);
  for (const { name } of promises) expect(name).toMatch(/^a hub [a-z]/);
});

test.each(promises)('$name', ({ run }) => run());

test.each<[string, Flaw]>([
  [
    'delivers a change to every subscribed stream',
    { carry: (events) => (events.includes('note://a') ? [] : [events]) },
  ],
  ['keeps the order', { carry: (events) => [events.split('\n').reverse().join('\n')] }],
  ['counts the streams', { carry: (events) => (events.includes('"streams"') ? [] : [events]) }],
  ['ends its streams', { neverCloses: true }],
])('a bus that breaks "%s" fails', async (promise, flaw) => {
  const tests = busTests('a hub', hub(flaw).makeBus, { counts: true });
  const found = tests.find(({ name }) => name.includes(promise));
  const late = new Promise((resolve) => setTimeout(resolve, 500, 'still waiting'));
  const kept = found?.run().then(
    () => 'kept',
    () => 'broken',
  );
  expect(['broken', 'still waiting']).toContain(await Promise.race([kept, late]));
});

test('a bus whose streams end while its broker is lost fails', async () => {
  const { makeBus } = hub({ isSlow: true });
  const buses: ProcessBus[] = [];
  const makeRemembered = () => {
    const bus = makeBus();
    buses.push(bus);
    return bus;
  };
  const loss = async (meanwhile: () => Promise<void>) => {
    await buses[1]?.close();
    await meanwhile();
  };
  const tests = busTests('a hub', makeRemembered, { loss });
  const found = tests.find(({ name }) => name.includes('delivers every accepted event'));
  await expect(found?.run()).rejects.toThrow('the stream has ended');
});
