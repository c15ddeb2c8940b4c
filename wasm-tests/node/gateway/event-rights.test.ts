import { InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect, test, vi } from 'vitest';
import { createGateway } from '../../../dist/cloudflare/gateway/gateway.js';

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));
vi.mock('../../../dist/cloudflare/edge/durable-object-bus.js', () => ({
  durableObjectBus: () => new InMemoryBus({ events: eventLog() }),
}));

function gateway(listen: object, options?: object) {
  const events = defineEvents({ 'order.paid': {} }, options);
  const namespace = { getByName: () => ({}) };
  return createGateway('https://upstream.example/mcp', namespace, {
    rights: 'admitted',
    events,
    listen,
  });
}

test('a gateway whose listens have an authorize needs one for its events, whatever its rights are', () => {
  const authorize = () => ({});
  expect(() => gateway({ authorize })).toThrow('give defineEvents an authorize');
  expect(gateway({ authorize }, { authorize: () => true })).toBeDefined();
  expect(gateway({})).toBeDefined();
});
