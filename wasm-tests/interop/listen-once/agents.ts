import { once } from 'node:events';
import { startWorkerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import type { ListenOnceClient } from './client.ts';

/**
 * The Agents SDK's client in an agent (a Durable Object in a process) with a connected user. One
 * that fails to connect is stopped after `failed`.
 */
export async function agents(
  url: string,
  failed: () => Promise<void> = async () => {},
): Promise<ListenOnceClient> {
  bundling ??= bundleWorker('wasm-tests/interop/listen-once/fixture/agent');
  const workerd = await startWorkerd({
    bundle: await bundling,
    durableObjects: [{ binding: 'AGENT', className: 'ListeningAgent' }],
    edges: 0,
    reachesLocal: true,
  });
  const ask = async (query = ''): Promise<Known> => {
    const response = await fetch(`${workerd.bus}/${query}`);
    if (!response.ok)
      throw new Error(`the agent responded with ${response.status}\n${workerd.log()}`);
    return (await response.json()) as Known;
  };
  const user = new WebSocket(workerd.bus);
  const connecting = once(user, 'open').then(() => ask(`?connect=${encodeURIComponent(url)}`));
  const { incarnation } = await connecting.catch(async (error: Error) => {
    await failed();
    await workerd.kill();
    throw error;
  });
  return {
    tools: async () => (await ask()).tools,
    end: async () => {
      const known = await ask();
      return known.incarnation === incarnation ? known.end : 'the object of the client was evicted';
    },
    stop: () => {
      user.close();
      return workerd.kill();
    },
  };
}

/** What the agent knows. */
interface Known {
  incarnation: string;
  tools: string[];
  end?: string;
}

let bundling: Promise<string> | undefined;
