import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../../wasm-tests/host/bundle.ts';
import type { LoadServer } from './server.ts';

/** The measured Workers, by their folder in bench/workers. */
export type WorkerName = 'listen' | 'local' | 'sdk' | 'relay' | 'held' | 'limit';

/** The options of a Worker. */
export interface WorkerOptions {
  /** The folder of the objects' disk. Default: the system's folder of temporary files. */
  disk?: string;
  /** Edges that one object of the bus holds. Default: 32,768. */
  edgesPerShard?: number;
  /** How the streams of an isolate reach the bus. Default: `auto`. */
  sockets?: 'each';
  /** Whether each listen asks a handler of the SDK for the capabilities. Default: false. */
  isAround?: boolean;
  /** Isolates that hold streams. Default: 1. */
  isolates?: number;
  /** Whether the relay sends the frames of a wave as one chunk. Default: false. */
  merges?: boolean;
  /** Whether the object of the bus leaves connections without a reply. Default: false. */
  isAway?: boolean;
}

/**
 * Starts a Worker on workerd, with isolates that hold streams, one for the objects and one that
 * publishes.
 */
export async function workerdServer(
  name: WorkerName,
  options: WorkerOptions = {},
): Promise<LoadServer> {
  const { publishers, objects } = LAYOUTS[name];
  const {
    disk,
    edgesPerShard = ONE_OBJECT,
    sockets = 'auto',
    isolates = 1,
    isAround = false,
    isAway = false,
    merges = false,
  } = options;
  const edges = isolates + publishers;
  const bundle = await bundleOf(name);
  const state = disk === undefined ? {} : { stateDir: await mkdtemp(join(disk, 'mcp-listen-')) };
  const text = {
    EDGES_PER_SHARD: String(edgesPerShard),
    SOCKETS: sockets,
    AROUND: String(isAround),
    AWAY: String(isAway),
    MERGES: String(merges),
  };
  const workerd = await startWorkerd({ bundle, edges, durableObjects: objects, text, ...state });
  const holding = workerd.edges.slice(0, isolates);
  const [first = ''] = holding;
  return {
    listen: new URL('/mcp', first),
    isolates: holding.map((edge) => new URL('/mcp', edge)),
    publish: new URL('/publish', workerd.edges[isolates] ?? first),
    ...(name === 'listen' ? { sockets: new URL('/sockets', workerd.edges[isolates]) } : {}),
    pid: workerd.pid,
    stop: () => stop(workerd, state.stateDir),
  };
}

/** Stops workerd with SIGKILL: it would wait a second for open streams. */
async function stop(workerd: Workerd, state: string | undefined): Promise<void> {
  await workerd.kill();
  if (state !== undefined) await rm(state, { recursive: true, force: true });
}

/** Where no object passes events on, the isolate that holds the streams publishes. */
const LAYOUTS = {
  listen: {
    publishers: 1,
    objects: [
      { binding: 'LISTEN_BUS', className: 'BenchBus' },
      { binding: 'ECHO', className: 'Echo' },
    ],
  },
  relay: { publishers: 1, objects: [{ binding: 'RELAY', className: 'Relay' }] },
  held: { publishers: 1, objects: [{ binding: 'HOLDER', className: 'Holder' }] },
  local: { publishers: 0, objects: [] },
  sdk: { publishers: 0, objects: [] },
  limit: { publishers: 0, objects: [] },
};

/** Bundles each Worker once. */
function bundleOf(name: WorkerName): Promise<string> {
  const known = bundles.get(name) ?? bundleWorker(`bench/workers/${name}`);
  bundles.set(name, known);
  return known;
}

const bundles = new Map<WorkerName, Promise<string>>();

/** More streams than any experiment opens, and the most WebSockets that an object may have. */
const ONE_OBJECT = 32_768;
