import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { vi } from 'vitest';
import { python } from '../../../scripts/setup/python.mjs';

/** A server of the Python SDK in a separate process. */
export interface PythonServer {
  /** The MCP endpoint. */
  url: string;
  stop(): void;
}

/** Starts `peer_server.py` with its arguments; resolves when it answers. */
export async function pythonServer(...args: string[]): Promise<PythonServer> {
  const server = spawn(python, [join(import.meta.dirname, 'peer_server.py'), ...args]);
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  const url = `http://127.0.0.1:${String(port).trim()}/mcp`;
  await vi.waitFor(() => fetch(url), 20_000);
  return { url, stop: () => void server.kill('SIGKILL') };
}
