import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { environment } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { listen } from '../host/listen.ts';
import { lastingPort } from '../host/port.ts';
import { Notifications, typescriptClient } from './clients/typescript.ts';

vi.setConfig({ testTimeout: 30_000 });

const LAMP = { toolsListChanged: true, resourceSubscriptions: ['lamp://desk'] };

describe.each([
  ['node', 'node', ['server.mjs']],
  ['express', 'node', ['server.mjs']],
  ['deno', 'deno', ['run', '--allow-net', '--allow-read', '--allow-env', 'server.ts']],
  ['bun', 'bun', ['server.ts']],
])('the example %s', (example, command, args) => {
  test("notifies the SDK's client once of each change that another client makes", async () => {
    const { url } = await started(example, command, args);
    const [listener, other] = [await typescriptClient(url), await typescriptClient(url)];
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
    const { url } = await started(example, command, args);
    const { port } = new URL(url);
    for (const address of elsewhere()) {
      await expect(fetch(`http://${address}:${port}/mcp`)).rejects.toThrow();
    }
  });

  test('ends its streams on SIGTERM as its comment describes, and exits', async () => {
    const { child, url } = await started(example, command, args);
    const stream = await listen(url, LAMP);
    expect(await stream.message()).toContain('acknowledged');
    child.kill('SIGTERM');
    if (command === 'node') expect(await stream.message()).toContain('"resultType":"complete"');
    expect(await stream.message()).toBeUndefined();
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });
});

/** The addresses of this machine other than that of the examples. */
function elsewhere(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ family, internal }) => family === 'IPv4' && !internal);
  return ['127.0.0.2', ...outer.map(({ address }) => address)];
}

type Child = ChildProcessByStdio<null, Readable, Readable>;
const children: Child[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
});

/** Starts an example on a free port; resolves when it answers. */
async function started(
  example: string,
  command: string,
  args: string[],
): Promise<{ child: Child; url: string }> {
  const port = await lastingPort();
  const child = spawn(command, args, {
    cwd: join(root, 'examples', example),
    env: { ...environment, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const url = `http://127.0.0.1:${port}/mcp`;
  await vi.waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(output);
      await fetch(url);
    },
    { timeout: 20_000, interval: 100 },
  );
  return { child, url };
}
