import type { ClosableServer } from './server.ts';

/** The contenders in process, by the word that a child process is told. */
export type ServerName = 'listen' | 'sdk' | 'enqueue';

/** Starts a contender; each is loaded only where it is measured. */
export async function serverOf(name: ServerName): Promise<ClosableServer> {
  switch (name) {
    case 'listen':
      return (await import('./listen-server.ts')).listenServer();
    case 'sdk':
      return (await import('./sdk-server.ts')).sdkServer();
    case 'enqueue':
      return (await import('./enqueue-server.ts')).enqueueServer();
  }
}
