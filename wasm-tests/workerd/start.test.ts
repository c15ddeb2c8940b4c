import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/project.mjs';
import { portOf } from '../host/port.ts';

describe('npm start', () => {
  test('says in one line that its port is taken, and does nothing else', async () => {
    const port = await takenPort();
    const { code, stdout, stderr } = await start(String(port));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^port ${port} is taken: .*\\n$`));
  });

  test.each(['x', '65536', '80.5', '-1'])('refuses "%s" as a port', async (port) => {
    const { code, stderr } = await start(port);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^PORT is ".*": it has to be a number from 0 to 65535\n$/);
  });

  test('serves the page, and leaves nothing running after SIGTERM', async () => {
    const child = startScript('0');
    const [endpoint = ''] = (await until(child.stdout, 'Ctrl-C')).match(/http:\S+\/mcp/) ?? [];
    const page = new URL('/', endpoint);
    expect((await fetch(page)).status).toBe(200);
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
    await expect(fetch(page)).rejects.toThrow();
  });
});

function startScript(port: string) {
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], { env: { ...process.env, PORT: port } });
  onTestFinished(() => void child.kill());
  return child;
}

async function start(port: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = startScript(port);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
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
