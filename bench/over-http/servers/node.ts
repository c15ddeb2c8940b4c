import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onStop } from '../../../scripts/process/main.mjs';
import type { LoadServer } from './server.ts';

/** The contenders on Node's HTTP. */
export type NodeName = 'listen' | 'sdk' | 'limit';

/** Starts a server on Node's HTTP in a separate process. */
export async function nodeServer(name: NodeName): Promise<LoadServer> {
  const child = fork(join(import.meta.dirname, 'node-process.ts'), [name], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  onStop(() => void child.kill());
  const early = exited.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)));
  const [origin] = (await Promise.race([once(child, 'message'), early])) as [string];
  return {
    listen: new URL('/mcp', origin),
    publish: new URL('/publish', origin),
    pid: child.pid ?? 0,
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
