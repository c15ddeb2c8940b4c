import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onStop } from '../../../scripts/process/main.mjs';
import { python, pythonSdk } from '../../../scripts/setup/python.mjs';
import type { LoadServer } from './server.ts';

/** Starts the official Python SDK on uvicorn. */
export async function pythonServer(): Promise<LoadServer> {
  await pythonSdk();
  const child = spawn(python, [join(import.meta.dirname, 'python_server.py')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  onStop(() => void child.kill());
  const said = once(createInterface({ input: child.stdout }), 'line');
  const early = exited.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)));
  const [port] = (await Promise.race([said, early])) as [string];
  return {
    listen: new URL(`http://127.0.0.1:${port}/mcp`),
    publish: new URL(`http://127.0.0.1:${port}/publish`),
    pid: child.pid ?? 0,
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
