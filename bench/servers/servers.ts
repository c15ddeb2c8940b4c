import type { ClosableServer } from './server.ts';

/** The names of the servers. */
export type ServerName = 'listen' | 'events' | 'sdk' | 'enqueue';

/** Loads and starts a server. */
export async function serverOf(name: ServerName): Promise<ClosableServer> {
  switch (name) {
    case 'listen':
      return (await import('./listen.ts')).listenServer();
    case 'events':
      return (await import('./events.ts')).eventServer();
    case 'sdk':
      return (await import('./sdk.ts')).sdkServer();
    case 'enqueue':
      return (await import('./enqueue.ts')).enqueueServer();
  }
}
