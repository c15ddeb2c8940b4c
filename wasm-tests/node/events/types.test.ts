import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { type ChangeEvent, watch } from 'mcp-listen/client';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { serveOnNode } from '../../host/node-http.ts';
import { CAPABILITIES } from '../../host/options.ts';
import { discovering } from '../../host/servers/discovering.ts';
import { open, serving, TOOLS, URL } from '../serving.ts';

const EVENTS = { eventsListChanged: true };

function withEvents(options: ListenHandlerOptions = {}) {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {} });
  return createListenHandler(discovering, { bus, events, ...options });
}

async function announced(options: ListenHandlerOptions): Promise<object> {
  const response = await withEvents(options).fetch(callRequest(URL, 'server/discover'));
  const { result } = (await response.json()) as { result: { capabilities: object } };
  return result.capabilities;
}

describe('changes of the list of event types', () => {
  test('are announced by a server that holds streams', async () => {
    const settings = { listChanged: true };
    expect(await announced({})).toMatchObject({
      events: settings,
      extensions: { 'io.modelcontextprotocol/events': settings },
    });
    expect(await announced({ listen: 'off' })).toMatchObject({ events: {} });
    expect(await announced({ listen: 'off' })).not.toHaveProperty('events.listChanged');
  });

  test('reach the streams that asked for them, collapsed, and no others', async () => {
    const server = withEvents();
    const asked = await open(server, EVENTS);
    expect(await asked.message()).toBe(acknowledged('1', EVENTS));
    const other = await open(server, { ...EVENTS, resourceSubscriptions: ['mcp-event:'] });
    expect(await other.message()).toBe(acknowledged('1', EVENTS));
    const named = await open(server, { resourceSubscriptions: ['mcp-event:'] });
    expect(await named.message()).toBe(acknowledged('1', {}));
    await server.bus.publishAll(Array(5).fill({ kind: 'events_list_changed' }));
    await server.close();
    for (const stream of [asked, other]) {
      expect(await stream.message()).toBe(listChanged('1', 'events'));
      expect(await stream.message()).toContain('"result"');
    }
    expect(await named.message()).toContain('"result"');
  });

  test('are left out of the acknowledgment where no events are served', async () => {
    const stream = await open(serving(), { ...TOOLS, ...EVENTS });
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    stream.drop();
  });

  test('are offered beside the capabilities that a server declares', async () => {
    const server = { info: { name: 'tests', version: '1.0.0' }, capabilities: CAPABILITIES };
    const both = { ...TOOLS, ...EVENTS };
    const stream = await open(withEvents({ server }), both);
    expect(await stream.message()).toBe(acknowledged('1', both));
    stream.drop();
  });

  test('are subject to what a caller may receive, and to its groups', async () => {
    const server = withEvents({
      authorize: () => ({ ...EVENTS, groups: ['acme'] }),
      events: defineEvents({ 'order.paid': {} }, { authorize: () => true }),
    });
    const stream = await open(server, { ...TOOLS, ...EVENTS });
    expect(await stream.message()).toBe(acknowledged('1', EVENTS));
    await server.notify.eventsChanged({ group: 'other' });
    await server.notify.eventsChanged({ group: 'acme' });
    expect(await stream.message()).toBe(listChanged('1', 'events'));
    await server.close();
    expect(await stream.message()).toContain('"result"');
  });

  test('call the handler of a watch when it opens, and after each change', async () => {
    const server = withEvents();
    const { origin, stop } = await serveOnNode((request) => server.fetch(request));
    onTestFinished(() => stop());
    const reads: string[] = [];
    const watched = watch(`${origin}/mcp`, EVENTS, { events: () => reads.push('events') });
    onTestFinished(() => watched.close());
    await expect.poll(() => reads).toHaveLength(1);
    await server.notify.eventsChanged();
    await expect.poll(() => reads).toHaveLength(2);
  });

  test('have their own kind for listeners of a bus, alone and within a group', async () => {
    const bus = new InMemoryBus();
    const received: unknown[] = [];
    bus.subscribe((event) => void received.push(event));
    const change: ChangeEvent = { kind: 'events_list_changed' };
    const grouped = { kind: 'for_group', group: 'acme', event: change } as const;
    await bus.publishAll([change, grouped]);
    expect(received).toEqual([change, grouped]);
  });
});
