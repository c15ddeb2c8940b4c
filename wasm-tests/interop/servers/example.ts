import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { environment } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';
import { lastingPort } from '../../host/port.ts';
import { retried } from '../../host/retried.ts';

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** A running example. */
export interface StartedExample {
  child: Child;
  /** Its MCP endpoint. */
  url: string;
}

/**
 * Starts an example on the port `PORT`, or any free one, until the end of the test, or until what
 * `later` receives is called; resolves when it responds.
 */
export async function startedExample(
  example: string,
  command: string,
  args: string[],
  variables: Record<string, string> = {},
  later: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<StartedExample> {
  const port = variables['PORT'] ?? String(await lastingPort());
  const child = spawn(command, args, {
    cwd: join(root, 'examples', example),
    env: { ...environment, ...variables, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  later(() => stopped(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const url = `http://127.0.0.1:${port}/mcp`;
  await retried(async () => {
    if (child.exitCode !== null) throw new Error(output);
    await fetch(url);
  }, 50_000);
  return { child, url };
}

async function stopped(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
