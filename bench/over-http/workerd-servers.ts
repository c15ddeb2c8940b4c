import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorkerd, type Workerd } from '../../scripts/workerd.mjs';
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
}

/** Starts a Worker on workerd: one isolate holds the streams, another one its objects, a third one publishes. */
export async function workerdServer(name: WorkerName, options: WorkerOptions = {}): Promise<LoadServer> {
  const { edges, object } = LAYOUTS[name];
  const { disk, edgesPerShard = ONE_OBJECT, sockets = 'auto' } = options;
  const bundle = await bundleOf(name);
  const durableObjects = object === undefined ? [] : [object];
  const state = disk === undefined ? {} : { stateDir: await mkdtemp(join(disk, 'mcp-listen-')) };
  const text = { EDGES_PER_SHARD: String(edgesPerShard), SOCKETS: sockets };
  const workerd = await startWorkerd({ bundle, edges, durableObjects, text, ...state });
  const [holding = '', publishing = holding] = workerd.edges;
  return {
    listen: new URL('/mcp', holding),
    publish: new URL('/publish', publishing),
    pid: workerd.pid,
    stop: () => stopped(workerd, state.stateDir),
  };
}

/** With SIGKILL: open streams would hold it for a second. */
async function stopped(workerd: Workerd, state: string | undefined): Promise<void> {
  await workerd.kill();
  if (state !== undefined) await rm(state, { recursive: true, force: true });
}

/** The SDK delivers nothing from one isolate to another, so there is one alone. */
const LAYOUTS = {
  listen: { edges: 2, object: { binding: 'LISTEN_BUS', className: 'BenchBus' } },
  relay: { edges: 2, object: { binding: 'RELAY', className: 'Relay' } },
  held: { edges: 2, object: { binding: 'HOLDER', className: 'Holder' } },
  sdk: { edges: 1, object: undefined },
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
