import { expect, onTestFinished, test } from 'vitest';
import { fastmcpPython } from '../../../scripts/setup/frameworks.mjs';
import { change, fields, LegacySession, nextMessage, type Send } from '../../host/legacy.ts';
import { lastingPort } from '../../host/port.ts';
import { retried } from '../../host/retried.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { SECRET } from '../../host/signing.ts';
import { SessionClient } from '../clients/session.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';
import { startedExample } from '../servers/example.ts';

const DESK = 'lamp://desk';
const UPDATED = `resources/updated ${DESK}`;

test('@hono/mcp in mcp-listen/hono notifies the session of another client, and resumes streams', async () => {
  const url = await startedHono();
  await expectSessionNotified(url, url, { headers: ANN });
  await expectResumed(as(ANN, url));
});

test('@hono/mcp in mcp-listen/hono serves the callers that its middleware names', async () => {
  const url = await startedHono();
  expect((await fetch(url, { method: 'POST' })).status).toBe(401);
  const session = await LegacySession.begin(as(ANN, url));
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
  expect((await session.post(list)).status).toBe(200);
  expect((await session.via(as(BOB, url)).post(list)).status).toBe(404);
});

test('Mastra behind a gateway that watches it notifies clients of 2026', async () => {
  const { url } = await startedExample('frameworks/mastra', 'node', ['server.ts'], QUIET);
  const gateway = await startGateway(url, { UPSTREAM_WATCH: 'on' });
  await expectStreamNotified(gateway.mcp(0), gateway.mcp(1), gateway);
});

test('fastmcp behind a gateway that watches it notifies sessions', async () => {
  const { url } = await startedExample('frameworks/fastmcp', 'node', ['server.ts']);
  const gateway = await startGateway(url, { UPSTREAM_WATCH: 'on' });
  await expectSessionNotified(gateway.mcp(0), gateway.mcp(1), { watching: gateway });
});

test.each([['sdk_server.py'], ['fastmcp_server.py']])(
  'Python, %s, publishes at the gateway and notifies clients of both revisions',
  async (file) => {
    const port = String(await lastingPort());
    const gateway = await startGateway(`http://127.0.0.1:${port}/mcp`, { UPSTREAM_WATCH: 'off' });
    await startedExample('frameworks/python', fastmcpPython, [file], {
      PORT: port,
      PUBLISH_URL: `${gateway.origin(1)}/publish`,
      PUBLISH_TOKEN: SECRET,
    });
    await expectStreamNotified(gateway.mcp(0), gateway.mcp(1));
    await expectSessionNotified(gateway.mcp(0), gateway.mcp(1));
  },
);

/** Starts the example with `@hono/mcp`; returns its URL. */
async function startedHono(): Promise<string> {
  const TOKENS = JSON.stringify({ 'token-of-ann': 'ann', 'token-of-bob': 'bob' });
  const variables = { TOKENS };
  return (await startedExample('frameworks/hono-mcp', 'node', ['server.ts'], variables)).url;
}

/** Sends requests with the token of a caller. */
function as(caller: typeof ANN, url: string): Send {
  return (init) => fetch(url, { ...init, headers: { ...init.headers, ...caller } });
}

const ANN = { authorization: 'Bearer token-of-ann' };
const BOB = { authorization: 'Bearer token-of-bob' };
/** Switches off the telemetry of Mastra. */
const QUIET = { MASTRA_TELEMETRY_DISABLED: '1' };

async function startGateway(
  upstream: string,
  text: Record<string, string>,
): Promise<GatewayFixture> {
  const gateway = await GatewayFixture.start(upstream, text);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/**
 * Expects that a client of 2026 at one URL is notified when another one switches the lamp, also
 * through a gateway that watches the server.
 */
async function expectStreamNotified(
  here: string,
  there: string,
  watching?: GatewayFixture,
): Promise<void> {
  const [listener, other] = [await typescriptClient(here), await typescriptClient(there)];
  const notifications = new Notifications(listener);
  const filter = { resourceSubscriptions: [DESK], ...(watching && { toolsListChanged: true }) };
  const subscription = await listener.listen(filter);
  expect(subscription.honoredFilter).toEqual(filter);
  if (watching !== undefined) await watchBegun(notifications, watching);
  await other.callTool({ name: 'switch', arguments: {} });
  expect(await notifications.next()).toBe(UPDATED);
  expect((await listener.readResource({ uri: DESK })).contents).toMatchObject([{ text: 'on' }]);
  await subscription.close();
  await Promise.all([listener.close(), other.close()]);
}

/** Expects that the session of a client is notified when another one switches the lamp. */
async function expectSessionNotified(
  here: string,
  there: string,
  { headers = {}, watching }: { headers?: Record<string, string>; watching?: GatewayFixture } = {},
): Promise<void> {
  const listener = await SessionClient.connect(here, 1, headers);
  const other = await SessionClient.connect(there, 1, headers);
  await listener.client.subscribeResource({ uri: DESK });
  if (watching !== undefined) await watchBegun(listener, watching);
  await other.client.callTool({ name: 'switch', arguments: {} });
  expect(await listener.next()).toBe(UPDATED);
  await Promise.all([listener.client.close(), other.client.close()]);
}

/** Expects that a session receives what changed while its stream was cut. */
async function expectResumed(send: Send): Promise<void> {
  const session = await LegacySession.begin(send);
  await session.ask('resources/subscribe', { uri: DESK });
  const cut = await session.open();
  const { id } = fields(await cut.event());
  cut.drop();
  await session.ask('tools/call', { name: 'switch', arguments: {} });
  const resumed = await retried(async () => {
    const stream = await session.open(id);
    expect(stream.response.status).toBe(200);
    return stream;
  });
  let message: unknown;
  do message = await nextMessage(resumed);
  while (message === '');
  expect(message).toEqual(change(DESK));
  resumed.drop();
}

/**
 * Waits for the cues of what may have changed before a watch began, and for the watch itself. What
 * comes next was published later.
 */
async function watchBegun(
  notifications: { discard(): void; next(): Promise<string> },
  gateway: GatewayFixture,
): Promise<void> {
  while ((await notifications.next()) !== UPDATED);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  notifications.discard();
  await gateway.publish({ kind: 'tools_list_changed' });
  while ((await notifications.next()) !== 'tools/list_changed');
}
