import { afterAll, beforeAll, expect, test } from 'vitest';
import { callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { lastingPort } from '../../host/port.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';
import { EXTENSION, requestOf } from '../../node/events/requests.ts';
import { type EventsServer, onNode, onPython } from '../servers/events.ts';

interface Reply {
  status: number;
  result?: Record<string, unknown>;
  error?: { code: number; data?: { reason?: string } };
}

/** Sends a request to one of the servers. */
type Ask = (method: string, params?: Record<string, unknown>, from?: Sender) => Promise<Reply>;

interface Sender {
  /** No credentials without it. */
  caller?: string;
  declaresExtension?: boolean;
}

const ADA: Sender = { caller: 'ada' };
const ADA_WHO_DECLARES: Sender = { caller: 'ada', declaresExtension: true };

/** What differs: how to read it, what it is here, and what it is in mcp-webhook-events. */
const DIFFERENCES: [what: string, read: (ask: Ask) => Promise<unknown>, unknown, unknown][] = [
  ['the places of the capability', placesOfCapability, [true, true], [true, false]],
  ['the modes of a type', modes, ['poll', 'push', 'webhook'], ['webhook']],
  ['the error of a poll', async (ask) => codeOf(await ask(...POLL)), undefined, -32_601],
  [
    'the error of an unknown type',
    async (ask) => codeOf(await subscribed(ask, await hook(), { name: 'lost' })),
    -32_011,
    -32_602,
  ],
  [
    'the error of a subscriber without credentials',
    async (ask) => codeOf(await subscribed(ask, await hook(), {}, {})),
    -32_012,
    undefined,
  ],
  [
    'the type of the cursor of a subscription',
    async (ask) => typeof (await subscribed(ask, await hook())).result?.['cursor'],
    'string',
    'object',
  ],
  ['the hours of a grant', hoursOf, 1, 7 * 24],
  [
    'the error of a grant of 0 ms',
    async (ask) => codeOf(await subscribed(ask, await hook(), { ttlMs: 0 })),
    undefined,
    -32_602,
  ],
  [
    'the reason and status of an endpoint that cannot be reached',
    async (ask) => {
      const { error, status } = await subscribed(ask, await unreachable());
      return [error?.data?.reason, status];
    },
    ['connection_refused', 400],
    ['connection_failed', 200],
  ],
  [
    'the error of that endpoint, where the client declares the extension',
    async (ask) => codeOf(await subscribed(ask, await unreachable(), {}, ADA_WHO_DECLARES)),
    -32_027,
    -32_015,
  ],
  [
    'the error of unsubscribing from nothing, where the client declares the extension',
    async (ask) => {
      const delivery = { mode: 'webhook', url: await hook() };
      return codeOf(await ask('events/unsubscribe', { ...NOTED, delivery }, ADA_WHO_DECLARES));
    },
    -32_023,
    undefined,
  ],
];

let own: EventsServer;
let peer: EventsServer;

beforeAll(async () => {
  [own, peer] = await Promise.all([onNode(), onPython()]);
});

afterAll(async () => {
  await Promise.all([own?.stop(), peer?.stop()]);
});

test.each(DIFFERENCES)('mcp-webhook-events differs in %s', async (_what, read, here, there) => {
  expect({ here: await read(askingOf(own)), there: await read(askingOf(peer)) }).toEqual({
    here,
    there,
  });
});

const NOTED = { name: 'noted', arguments: { topic: 'mail' } };
const POLL = ['events/poll', { ...NOTED, cursor: null }, ADA] as const;

function askingOf({ url }: EventsServer): Ask {
  return async (method, params = {}, { caller, declaresExtension = false } = ADA) => {
    const request = declaresExtension
      ? requestOf(method, params, 1)
      : callRequest(url, method, params);
    if (caller !== undefined) request.headers.set('authorization', caller);
    const { headers } = request;
    const response = await fetch(url, { method: 'POST', headers, body: await request.text() });
    return { status: response.status, ...((await response.json()) as object) };
  };
}

function subscribed(ask: Ask, url: string, params = {}, from = ADA): Promise<Reply> {
  const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
  return ask('events/subscribe', { ...NOTED, delivery, cursor: null, ...params }, from);
}

function codeOf({ error }: Reply): number | undefined {
  return error?.code;
}

async function placesOfCapability(ask: Ask): Promise<boolean[]> {
  const { result } = await ask('server/discover');
  const { events, extensions = {} } = Object(result?.['capabilities']);
  return [events !== undefined, EXTENSION in extensions];
}

async function modes(ask: Ask): Promise<unknown> {
  const { result } = await ask('events/list');
  return Object(result?.['events'])[0].delivery;
}

async function hoursOf(ask: Ask): Promise<number> {
  const { result } = await subscribed(ask, await hook());
  const until = Date.parse(String(result?.['refreshBefore']));
  return Math.round((until - Date.now()) / 3_600_000);
}

/** The URL of an endpoint that consents. */
async function hook(): Promise<string> {
  return (await endpoint(HOOK_SECRET)).url;
}

async function unreachable(): Promise<string> {
  return `http://127.0.0.1:${await lastingPort()}/hook`;
}
