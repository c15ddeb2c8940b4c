import { expect, onTestFinished, test, vi } from 'vitest';
import { fastmcpPython } from '../../../scripts/setup/frameworks.mjs';
import { change, fields, LegacySession, nextMessage } from '../../host/legacy.ts';
import { lastingPort } from '../../host/port.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { SECRET } from '../../host/signing.ts';
import { SessionClient } from '../clients/session.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';
import { startedExample } from '../servers/example.ts';

vi.setConfig({ testTimeout: 60_000 });

const DESK = 'lamp://desk';
const UPDATED = `resources/updated ${DESK}`;

test('@hono/mcp in mcp-listen/hono notifies the session of another client, and resumes streams', async () => {
  const { url } = await startedExample('frameworks/hono-mcp', 'node', ['server.ts']);
  await expectSessionNotified(url, url);
  await expectResumed(url);
});

test('Mastra behind a gateway that watches it notifies clients of 2026', async () => {
  const { url } = await startedExample('frameworks/mastra', 'node', ['server.ts'], QUIET);
  const gate = await gateway(url, { UPSTREAM_WATCH: 'on' });
  await expectStreamNotified(gate.mcp(0), gate.mcp(1), { isWatched: true });
});

test('fastmcp behind a gateway that watches it notifies sessions', async () => {
  const { url } = await startedExample('frameworks/fastmcp', 'node', ['server.ts']);
  const gate = await gateway(url, { UPSTREAM_WATCH: 'on' });
  await expectSessionNotified(gate.mcp(0), gate.mcp(1), { isWatched: true });
});

test.each([['sdk_server.py'], ['fastmcp_server.py']])(
  'Python, %s, publishes at the gateway and notifies clients of both eras',
  async (file) => {
    const port = String(await lastingPort());
    const gate = await gateway(`http://127.0.0.1:${port}/mcp`, { UPSTREAM_WATCH: 'off' });
    await startedExample('frameworks/python', fastmcpPython, [file], {
      PORT: port,
      PUBLISH_URL: `${gate.origin(1)}/publish`,
      PUBLISH_TOKEN: SECRET,
    });
    await expectStreamNotified(gate.mcp(0), gate.mcp(1));
    await expectSessionNotified(gate.mcp(0), gate.mcp(1));
  },
);

/** Switches off the telemetry of Mastra. */
const QUIET = { MASTRA_TELEMETRY_DISABLED: '1' };

async function gateway(upstream: string, text: Record<string, string>): Promise<GatewayFixture> {
  const gate = await GatewayFixture.start(upstream, text);
  onTestFinished(() => gate.stop());
  return gate;
}

/** Expects that a client of 2026 at one URL is notified when another one switches the lamp. */
async function expectStreamNotified(
  here: string,
  there: string,
  { isWatched = false } = {},
): Promise<void> {
  const [listener, other] = [await typescriptClient(here), await typescriptClient(there)];
  const notifications = new Notifications(listener);
  const subscription = await listener.listen({ resourceSubscriptions: [DESK] });
  expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [DESK] });
  if (isWatched) await watchBegun(notifications);
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
  { isWatched = false } = {},
): Promise<void> {
  const [listener, other] = [await SessionClient.connect(here), await SessionClient.connect(there)];
  await listener.client.subscribeResource({ uri: DESK });
  if (isWatched) await watchBegun(listener);
  await other.client.callTool({ name: 'switch', arguments: {} });
  expect(await listener.next()).toBe(UPDATED);
  await Promise.all([listener.client.close(), other.client.close()]);
}

/** Expects that a session receives what changed while its stream was cut. */
async function expectResumed(url: string): Promise<void> {
  const session = await LegacySession.begin((init) => fetch(url, init));
  await session.ask('resources/subscribe', { uri: DESK });
  const cut = await session.open();
  const { id } = fields(await cut.event());
  cut.drop();
  await session.ask('tools/call', { name: 'switch', arguments: {} });
  const resumed = await vi.waitFor(async () => {
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

/** Waits for the cues of what may have changed before a watch began, and for the watch itself. */
async function watchBegun(notifications: { next(): Promise<string> }): Promise<void> {
  while ((await notifications.next()) !== UPDATED);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
}
