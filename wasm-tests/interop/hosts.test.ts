import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { listen } from '../host/listen.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';
import { startedExample } from './servers/example.ts';

/** Users by token, for the examples that ask for one. */
const TOKENS = JSON.stringify({ 'token-of-ann': 'ann' });
const ANN = { authorization: 'Bearer token-of-ann' };
const LAMP = { toolsListChanged: true, resourceSubscriptions: ['lamp://desk'] };

describe.each([
  ['node', 'node', ['server.mjs']],
  ['express', 'node', ['server.mjs']],
  ['deno', 'deno', ['run', '--allow-net', '--allow-read', '--allow-env', 'server.ts']],
  ['bun', 'bun', ['server.ts']],
])('the example %s', (example, command, args) => {
  test("notifies the SDK's client once of each change that another client makes", async () => {
    const { url } = await startedExample(example, command, args, { TOKENS });
    const [listener, other] = [await connected(url), await connected(url)];
    const notifications = new Notifications(listener);
    const subscription = await listener.listen(LAMP);
    expect(subscription.honoredFilter).toEqual(LAMP);
    for (const state of ['on', 'off']) {
      expect((await other.callTool({ name: 'switch', arguments: {} })).content).toMatchObject([
        { text: state },
      ]);
      const changes = [await notifications.next(), await notifications.next()];
      expect(changes.sort()).toEqual(['resources/updated lamp://desk', 'tools/list_changed']);
      const { tools } = await listener.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual(
        state === 'on' ? ['dim', 'switch'] : ['switch'],
      );
      const { contents } = await listener.readResource({ uri: 'lamp://desk' });
      expect(contents).toMatchObject([{ text: state }]);
    }
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  });

  test('is reached from this machine alone', async () => {
    const { url } = await startedExample(example, command, args);
    const { port } = new URL(url);
    for (const address of elsewhere()) {
      await expect(fetch(`http://${address}:${port}/mcp`)).rejects.toThrow();
    }
  });

  test('ends its streams on SIGTERM as its comment describes, and exits', async () => {
    const { child, url } = await startedExample(example, command, args, { TOKENS });
    const stream = await listen(url, LAMP, { headers: ANN });
    expect(await stream.message()).toContain('acknowledged');
    child.kill('SIGTERM');
    if (command === 'node') expect(await stream.message()).toContain('"resultType":"complete"');
    expect(await stream.message()).toBeUndefined();
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });
});

test('the example express serves callers with a token alone, and counts the streams of each', async () => {
  const { url } = await startedExample('express', 'node', ['server.mjs'], { TOKENS });
  expect((await listen(url, LAMP)).response.status).toBe(401);
  for (let count = 0; count < 16; count += 1)
    expect((await listen(url, LAMP, { headers: ANN })).response.status).toBe(200);
  expect((await listen(url, LAMP, { headers: ANN })).response.status).toBe(429);
});

/** A client with a token. */
function connected(url: string): Promise<Client> {
  const requestInit = { headers: ANN };
  return typescriptClient(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
}

/** The addresses of this machine other than that of the examples. */
function elsewhere(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ family, internal }) => family === 'IPv4' && !internal);
  return ['127.0.0.2', ...outer.map(({ address }) => address)];
}
