import { inspect } from 'node:util';
import { createListenHandler, InMemoryBus } from 'mcp-listen';
import { defineEvents, eventLog } from 'mcp-listen/events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DeliverMaker } from '../../../dist/bus/memory/webhooks.js';
import { callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { EventReader } from '../../host/events.ts';
import { elapsed, pass, until } from '../../host/virtual-clock.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { discovering } from './requests.ts';

/** Everything that was reported or logged. */
let said: unknown[];

function say(...values: unknown[]): void {
  said.push(...values);
}

beforeEach(() => {
  said = [];
  for (const method of ['debug', 'error', 'info', 'log', 'warn'] as const)
    vi.spyOn(console, method).mockImplementation(say);
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const PAYLOAD = 'a-private-payload';
const ARGUMENT = 'a-private-argument';
const PATH = 'a-private-path';

/** A server whose functions and whose storage of subscriptions fail while these are true. */
function failing() {
  const fails = { authorize: false, match: false, rows: false };
  const failIf = (name: keyof typeof fails) => {
    if (fails[name]) throw new Error(`${name} is broken`);
    return true;
  };
  const events = defineEvents(
    {
      'order.paid': {
        inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
        payloadSchema: { type: 'object', properties: { note: { type: 'string' } } },
        match: () => failIf('match'),
      },
    },
    {
      authorize: () => failIf('authorize'),
      webhooks: {
        allowInsecureLocalhost: true,
        authorizationTtlMs: 60_000,
        authorize: () => failIf('authorize'),
        onError: say,
      },
    },
  );
  const log = eventLog({ webhooks: events });
  const deliver: DeliverMaker = (host) => {
    const put = host.rows.put.bind(host.rows);
    host.rows.put = (id, text) => void (failIf('rows') && put(id, text));
    return (log.deliver as DeliverMaker)(host);
  };
  const server = createListenHandler(discovering, {
    bus: new InMemoryBus({ events: { ...log, deliver }, onError: say }),
    events,
    principal: (request) => request.headers.get('authorization') ?? undefined,
    onError: say,
    onLog: say,
  });
  const ask = (method: string, params: object = {}) => {
    const subject = { name: 'order.paid', arguments: { customer: ARGUMENT } };
    const request = callRequest('http://127.0.0.1/mcp', method, { ...subject, ...params });
    request.headers.set('authorization', 'ada');
    return server.fetch(request);
  };
  const subscribe = async (url: string) => {
    const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
    return (await ask('events/subscribe', { delivery })).json() as Promise<object>;
  };
  return { ask, fails, server, subscribe };
}

test('what is reported and logged shows no payload, argument, url or secret', async () => {
  const { ask, fails, server, subscribe } = failing();
  const hook = await endpoint(HOOK_SECRET);
  const url = `${hook.url}/${PATH}`;
  expect(await subscribe(url)).toHaveProperty('result');
  const stream = new EventReader(await ask('events/stream'));
  await stream.next();
  await pass(1_100);

  // An endpoint that fails, redirects or is not there.
  const replies = [500, { status: 307, headers: { location: `/${PATH}` } }];
  hook.reply = () => replies.shift();
  await server.notify.event('order.paid', { note: PAYLOAD }, { id: 'one' });
  await elapsed(() => hook.events.length === 3);
  expect(await subscribe(`http://127.0.0.1:1/${PATH}`)).toHaveProperty('error');

  // Functions and a storage that throw.
  fails.match = true;
  await server.notify.event('order.paid', { note: PAYLOAD });
  await until(() => said.filter((each) => `${each}`.includes('match is broken')).length === 2);
  await ask('events/poll', { cursor: null });
  fails.match = false;
  fails.authorize = true;
  await subscribe(url);
  await pass(60_001);
  await server.notify.event('order.paid', { note: PAYLOAD });
  await until(() => said.some((each) => `${each}`.includes('webhooks.authorize threw')));
  fails.authorize = false;
  fails.rows = true;
  await subscribe(url);

  // What is not valid.
  const rejected = server.notify.event('order.paid', { note: [PAYLOAD] });
  await expect(rejected).rejects.toMatchObject({ code: 'invalid-event-data' });
  await server.disconnect('ada');
  await server.close();

  const text = inspect(said, { depth: 20, showHidden: true, maxStringLength: null });
  for (const what of ['match is', 'authorize is', 'rows is', "event: 'open'", "event: 'end'"])
    expect(text).toContain(what);
  for (const secret of [PAYLOAD, ARGUMENT, PATH, HOOK_SECRET, HOOK_SECRET.slice(6)])
    expect(text).not.toContain(secret);
});
