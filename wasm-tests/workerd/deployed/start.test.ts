import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { portOf } from '../../host/port.ts';
import { statusAt } from '../../host/wire/status.ts';

describe('npm start', () => {
  test('reports in one line that its port is taken, and exits', async () => {
    const port = await takenPort();
    const { code, stdout, stderr } = await start(String(port));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^port ${port} is taken: .*\\n$`));
  });

  test.each(['x', '65536', '80.5', '-1'])('refuses "%s" as a port', async (port) => {
    const { code, stderr } = await start(port);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^PORT is ".*": it must be a number from 0 to 65535\n$/);
  });

  test('serves the page, and leaves no process after SIGTERM', async () => {
    const { child, endpoint } = await serve();
    const page = new URL('/', endpoint);
    expect((await fetch(page)).status).toBe(200);
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
    await expect(fetch(page)).rejects.toThrow();
  });

  test('refuses any host but this machine, at every path', async () => {
    const { endpoint } = await serve();
    const statusOf = (path: string, host: string) =>
      statusAt(new URL(path, endpoint), { headers: { host } });
    for (const path of ['/', '/stats', '/publish', '/mcp', '/.well-known/x', '/other']) {
      expect([path, await statusOf(path, 'evil.example')]).toEqual([path, 403]);
    }
    expect(await statusOf('/stats', new URL(endpoint).host)).toBe(200);
  });

  test.each([
    [{ TENANTS: 'Path', TENANT_NAMES: 'acme' }, 'TENANTS'],
    [{ PUBLISH_TOKEN: 'weak' }, 'PUBLISH_TOKEN'],
  ])('does not start with %o, and names the variable', async (variables, name) => {
    const { code, stderr } = await start('0', { UPSTREAM: 'http://127.0.0.1:1/mcp', ...variables });
    expect(code).toBe(1);
    expect(stderr).toContain(name);
  });
});

/** Starts the script on a free port; resolves once it serves. */
async function serve() {
  const child = startScript('0');
  const [endpoint = ''] = (await until(child.stdout, 'Ctrl-C')).match(/http:\S+\/mcp/) ?? [];
  return { child, endpoint };
}

function startScript(port: string, variables: Record<string, string> = {}) {
  const env = { ...process.env, ...variables, PORT: port };
  const child = spawn(process.execPath, [join(root, 'scripts', 'start', 'start.mjs')], { env });
  onTestFinished(() => void child.kill());
  return child;
}

async function start(port: string, variables: Record<string, string> = {}) {
  const child = startScript(port, variables);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, stdout, stderr };
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  let all = '';
  for await (const part of stream) all += part;
  return all;
}

async function until(stream: AsyncIterable<Buffer>, end: string): Promise<string> {
  let all = '';
  for await (const part of stream) {
    all += part;
    if (all.includes(end)) break;
  }
  return all;
}

async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return portOf(server);
}
