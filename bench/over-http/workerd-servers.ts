import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundled } from '../../wasm-tests/host/bundle.ts';
import type { LoadServer } from './load-server.ts';

/** The Workers that are measured, by their folder in bench/workers. */
export type WorkerName = 'listen' | 'sdk' | 'relay' | 'held';

/** How a Worker is started. */
export interface WorkerOptions {
  /** Where the objects' disk is; the system's folder of temporary files without it. */
  disk?: string;
  /** Streams that one object of the bus holds; as many as come without it. */
  edgesPerShard?: number;
  /** How the streams of an isolate reach the bus; as by default without it. */
  sockets?: 'each';
  /** Isolates that hold streams; one without it. */
  isolates?: number;
  /** The object of the bus answers no connection. */
  isAway?: boolean;
}

/**
 * Starts a Worker on workerd: one isolate holds the streams, or several, another one its objects, a
 * third one publishes.
 */
export async function workerdServer(
  name: WorkerName,
  options: WorkerOptions = {},
): Promise<LoadServer> {
  const { publishers, object } = LAYOUTS[name];
  const {
    disk,
    edgesPerShard = ONE_OBJECT,
    sockets = 'auto',
    isolates = 1,
    isAway = false,
  } = options;
  const edges = isolates + publishers;
  const bundle = await bundleOf(name);
  const durableObjects = object === undefined ? [] : [object];
  const state = disk === undefined ? {} : { stateDir: await mkdtemp(join(disk, 'mcp-listen-')) };
  const text = { EDGES_PER_SHARD: String(edgesPerShard), SOCKETS: sockets, AWAY: String(isAway) };
  const workerd = await startWorkerd({ bundle, edges, durableObjects, text, ...state });
  const holding = workerd.edges.slice(0, isolates);
  const [first = ''] = holding;
  return {
    listen: new URL('/mcp', first),
    isolates: holding.map((edge) => new URL('/mcp', edge)),
    publish: new URL('/publish', workerd.edges[isolates] ?? first),
    pid: workerd.pid,
    stop: () => stopped(workerd, state.stateDir),
  };
}

/** With SIGKILL: open streams would hold it for a second. */
async function stopped(workerd: Workerd, state: string | undefined): Promise<void> {
  await workerd.kill();
  if (state !== undefined) await rm(state, { recursive: true, force: true });
}

/**
 * The SDK delivers nothing from one isolate to another: the one that holds its streams publishes
 * too.
 */
const LAYOUTS = {
  listen: { publishers: 1, object: { binding: 'LISTEN_BUS', className: 'BenchBus' } },
  relay: { publishers: 1, object: { binding: 'RELAY', className: 'Relay' } },
  held: { publishers: 1, object: { binding: 'HOLDER', className: 'Holder' } },
  sdk: { publishers: 0, object: undefined },
};

/** Each is bundled once. */
function bundleOf(name: WorkerName): Promise<string> {
  const known = bundles.get(name) ?? bundled(`bench/workers/${name}`);
  bundles.set(name, known);
  return known;
}

const bundles = new Map<WorkerName, Promise<string>>();

/** More streams than any experiment opens, and as many as an object may have. */
const ONE_OBJECT = 32_768;
