import { createMcpHandler } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { expect } from 'vitest';
import { call, callRequest } from '../../../host/call.ts';
import { endpoint } from '../../../host/endpoint.ts';
import { EventReader } from '../../../host/events.ts';
import { serveOnNode } from '../../../host/node-http.ts';
import { discovering } from '../../../host/servers/discovering.ts';
import { HOOK_SECRET } from '../../../host/webhook.ts';
import { sdkServer } from '../../sessions/serving.ts';
import type { Checks } from './check.ts';
import { serving, TYPES } from './serving.ts';

/** Capabilities, the list of event types, and the numbers of errors. */
export const DISCOVERY: Checks = {
  'sep-9999-capability-events-object': async () => {
    const { events, extensions } = await capabilities();
    expect(events).toBeTypeOf('object');
    expect(extensions).toEqual({ 'io.modelcontextprotocol/events': events });
  },

  'sep-9999-capability-list-changed-flag': async () => {
    expect(await capabilities()).toHaveProperty('events.listChanged', true);
  },

  'sep-9999-capability-empty-settings': async () => {
    const { result } = await serving({ listen: 'off' }).call('server/discover');
    expect(result?.['capabilities']).toEqual({
      events: {},
      extensions: { 'io.modelcontextprotocol/events': {} },
    });
  },

  'sep-9999-list-changed-notification': async () => {
    const capabilities = { tools: { listChanged: true } };
    const server = { info: { name: 'changing', version: '1.0.0' }, capabilities };
    const { handler, send } = serving({ server });
    const open = async (notifications: object) =>
      new EventReader(await send('subscriptions/listen', { notifications }));
    const asked = await open({ eventsListChanged: true, toolsListChanged: true });
    const other = await open({ toolsListChanged: true });
    for (const stream of [asked, other]) await stream.next();
    await handler.notify.eventsChanged();
    expect(await asked.next()).toEqual({
      ...{ jsonrpc: '2.0', method: 'notifications/events/list_changed' },
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
    await handler.notify.toolsChanged();
    for (const stream of [asked, other])
      expect(await stream.next()).toMatchObject({ method: 'notifications/tools/list_changed' });
  },

  'sep-9999-list-implemented': async () => {
    const { result } = await serving().call('events/list');
    const names = ['judged', 'noted', 'streamed'];
    expect(result?.['events']).toMatchObject(names.map((name) => ({ name })));
    expect(result).not.toHaveProperty('nextCursor');
  },

  'sep-9999-list-pagination': async () => {
    const names = Array.from({ length: 250 }, (_, index) => `t${1_000 + index}`);
    const types = Object.fromEntries(names.map((name) => [name, {}]));
    const bus = new InMemoryBus({ events: eventLog() });
    const handler = createListenHandler(discovering, { bus, events: defineEvents(types) });
    const node = await serveOnNode((request) => handler.fetch(request));
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await call<ListPage>(node.origin, 'events/list', cursor ? { cursor } : {});
      found.push(...(page.result?.events ?? []).map(({ name }) => name));
      cursor = page.result?.nextCursor;
    } while (cursor !== undefined && found.length < 1_000);
    await node.stop();
    expect(found).toEqual(names);
  },

  'sep-9999-descriptor-name': async () => {
    for (const { name } of await descriptors()) expect(TYPES).toHaveProperty([name as string]);
  },

  'sep-9999-descriptor-description': async () => {
    for (const { description } of await descriptors()) expect(description).toMatch(/\w/);
  },

  'sep-9999-descriptor-delivery-subset': async () => {
    const modes = (await descriptors()).map(({ delivery }) => delivery);
    const all = ['poll', 'push', 'webhook'];
    expect(modes).toEqual([all, all, ['push']]);
  },

  'sep-9999-descriptor-input-schema': async () => {
    const [judged, noted] = await descriptors();
    expect(judged?.['inputSchema']).toMatchObject({ type: 'object' });
    expect(noted?.['inputSchema']).toEqual(TYPES.noted.inputSchema);
  },

  'sep-9999-descriptor-payload-schema': async () => {
    const [judged, noted] = await descriptors();
    expect(judged?.['payloadSchema']).toMatchObject({ type: 'object' });
    expect(noted?.['payloadSchema']).toEqual(TYPES.noted.payloadSchema);
  },

  'sep-9999-descriptor-meta': async () => {
    const metas = (await descriptors()).map(({ _meta }) => _meta);
    expect(metas).toEqual([undefined, TYPES.noted._meta, undefined]);
  },

  'sep-9999-removal-poll-not-found': async () => {
    const { error } = await serving().call('events/poll', { name: 'removed' });
    expect(error).toMatchObject({ code: -32_011, data: { kind: 'event' } });
  },

  'sep-9999-error-invalid-params': async () => {
    const { call, subscribe } = serving();
    const hook = { url: 'http://127.0.0.1:1/hook', secret: HOOK_SECRET };
    const responses = [
      await call('events/poll', { name: 'noted', arguments: { topic: 7 } }),
      await subscribe('', { delivery: { ...hook, url: 'no url' } }),
      await subscribe('', { delivery: { ...hook, url: 'http://hooks.example.com/hook' } }),
      await subscribe('', { delivery: { ...hook, secret: 'secret' } }),
    ];
    expect(responses.map(({ error }) => error?.code)).toEqual(Array(4).fill(-32_602));
  },

  'sep-9999-error-not-found': async () => {
    const { call } = serving();
    for (const method of ['events/poll', 'events/stream']) {
      const { error } = await call(method, { name: 'unknown' });
      expect(error).toMatchObject({ code: -32_011, data: { kind: 'event' } });
    }
  },

  'sep-9999-error-forbidden': async () => {
    const authorize = ({ mode }: { mode?: unknown }) => mode === undefined || 'not today';
    const { call } = serving({ events: { authorize } });
    for (const method of ['events/poll', 'events/stream']) {
      const { error } = await call(method, { name: 'noted' });
      expect(error).toMatchObject({ code: -32_012, data: { reason: 'not today' } });
    }
  },

  'sep-9999-error-resource-exhausted': async () => {
    const { subscribe } = serving({ webhooks: { maxSubscriptionsPerPrincipal: 1 } });
    const hook = await endpoint(HOOK_SECRET);
    await subscribe(hook.url);
    const { error } = await subscribe(`${hook.url}?other`);
    expect(error).toMatchObject({ code: -32_013, data: { limit: 'subscriptions', max: 1 } });
  },

  'sep-9999-error-unsupported': async () => {
    const { subscribe } = serving();
    const { error } = await subscribe('http://127.0.0.1:1/hook', { name: 'streamed' });
    expect(error).toMatchObject({
      code: -32_014,
      data: { feature: 'deliveryMode', value: 'webhook' },
    });
  },

  'sep-9999-error-callback-endpoint-error': async () => {
    const { error } = await serving().subscribe('http://127.0.0.1:1/hook');
    expect(error).toMatchObject({ code: -32_015, data: { reason: 'connection_refused' } });
  },

  'sep-9999-fallback-method-not-found': async () => {
    const sdk = createMcpHandler(() => sdkServer());
    const handler = createListenHandler(sdk, { bus: new InMemoryBus() });
    for (const method of ['list', 'poll', 'stream', 'subscribe', 'unsubscribe']) {
      const request = callRequest('http://127.0.0.1/mcp', `events/${method}`, {});
      const response = await handler.fetch(request);
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { error: { code: -32_601 } },
      ]);
    }
  },

  'sep-9999-error-server-range': async () => {
    const { call, subscribe } = serving();
    const responses = [
      await call('events/poll', { name: 'unknown' }),
      await call('events/poll', { name: 'streamed' }),
      await subscribe('http://127.0.0.1:1/hook'),
    ];
    for (const { error } of responses) {
      expect(error?.code).toBeGreaterThanOrEqual(-32_099);
      expect(error?.code).toBeLessThanOrEqual(-32_000);
    }
  },
};

interface ListPage {
  events: { name: string }[];
  nextCursor?: string;
}

async function capabilities(): Promise<Record<string, unknown>> {
  const { result } = await serving().call('server/discover');
  return result?.['capabilities'] as Record<string, unknown>;
}

async function descriptors(): Promise<Record<string, unknown>[]> {
  const { result } = await serving().call('events/list');
  return result?.['events'] as Record<string, unknown>[];
}
