import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../../scripts/process/project.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { lastingPort } from '../../host/port.ts';
import { retried } from '../../host/retried.ts';

/** A server of the Python SDK in a separate process. */
export interface PythonServer {
  /** The MCP endpoint. */
  url: string;
  stop(): void;
}

/** Starts `peer_server.py` with its arguments; resolves when it responds. */
export function pythonServer(...args: string[]): Promise<PythonServer> {
  return started('peer_server.py', args);
}

/** Starts `bus_server.py` on the bus of a broker; resolves when it responds. */
export function pythonBusServer(kind: 'redis' | 'nats', port: number): Promise<PythonServer> {
  return started('bus_server.py', [kind, `${port}`]);
}

/** Starts `events_server.py` with the file for its subscriptions; resolves when it responds. */
export function pythonEventsServer(store: string): Promise<PythonServer> {
  return started('events_server.py', [store]);
}

async function started(program: string, args: string[]): Promise<PythonServer> {
  const env = { ...process.env, PYTHONPATH: PYTHON_BUS };
  const port = await lastingPort();
  const script = join(import.meta.dirname, program);
  const server = spawn(python, [script, `${port}`, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  server.stderr.on('data', (text) => (output += text));
  const url = `http://127.0.0.1:${port}/mcp`;
  await retried(async () => {
    if (server.exitCode !== null) throw new Error(output);
    await fetch(url);
  }, 50_000);
  return { url, stop: () => void server.kill('SIGKILL') };
}

/** The sources of the package mcp-listen-bus. */
export const PYTHON_BUS = join(root, 'python', 'src');
