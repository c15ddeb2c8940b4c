import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ListenHandlerOptions, ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../host/bundle.ts';
import { lastingPort } from '../host/port.ts';
import { waitsOf } from '../host/processor.ts';
import { OBJECT } from './fixture/object.ts';
import { heapOf } from './judgement/heap.ts';
import { type Pieces, Relay } from './wire/relay.ts';
import { Wire } from './wire/wire.ts';

/** Options of the processes. */
export interface WorldOptions {
  /** Options of the server of each edge, in JSON. */
  options?: ListenHandlerOptions;
  /** Whether edges connect to the bus without the wire. */
  isDirect?: boolean;
  /** The pieces in which bytes cross between the edges and the wire. */
  pieces?: Pieces;
  /** Whether the edges have an inspector. */
  inspected?: boolean;
  /** The option `sockets` of the bus. Default: `auto`. */
  sockets?: 'auto' | 'each' | 'shared';
  /** Whether requests at the edges can be stalled, and their writes to other streams refused. */
  isKeptApart?: boolean;
  /** Whether such writes are refused from the beginning. */
  refusesCrossing?: boolean;
  /** The write budget of a request that owns a shared connection. Default: that of the package. */
  writes?: number;
  /** Edges of the bus before it opens shards. */
  edgesPerShard?: number;
  /** The folder of the Worker of all processes. Default: that of the faults. */
  fixture?: string;
}

/** The counts of an edge. */
export interface EdgeStats extends ListenStats {
  timers: number;
  complaints: Record<string, number>;
}

/** The processes, one with the bus and two with an edge each, and the wire between them. */
export class World {
  readonly wire: Wire;
  readonly edges: Workerd[];
  /** The option `sockets`. */
  readonly sockets: 'auto' | 'each' | 'shared';
  #bus: Workerd;
  readonly #folder: string;
  readonly #bundle: string;
  readonly #relay: Relay | undefined;
  readonly #bindings: Record<string, string>;
  #disks = 0;
  /** Whether an object in the process of the bus was reset, and has to be collected. */
  #hasReset = false;

  private constructor(parts: Parts) {
    this.#bus = parts.bus;
    this.wire = parts.wire;
    this.edges = parts.edges;
    this.sockets = parts.sockets;
    this.#folder = parts.folder;
    this.#bundle = parts.bundle;
    this.#relay = parts.relay;
    this.#bindings = parts.bindings;
  }

  /** Starts all processes. */
  static async start(given: WorldOptions = {}): Promise<World> {
    const {
      options = {},
      isDirect = false,
      inspected = false,
      pieces,
      edgesPerShard,
      sockets = 'auto',
    } = given;
    const { fixture = 'wasm-tests/faults/fixture' } = given;
    const bindings = edgesPerShard === undefined ? {} : { EDGES_PER_SHARD: `${edgesPerShard}` };
    const bundle = await bundleOf(fixture);
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-faults-'));
    const bus = await startBus(bundle, bindings, join(folder, 'disk-0'), await lastingPort());
    let world: World | undefined;
    const wire = await Wire.start(() => portIn(world?.bus ?? bus.bus));
    const relay = pieces === undefined ? undefined : await Relay.start(wire.origin, pieces);
    const remoteBus = new URL(isDirect ? bus.bus : (relay?.origin ?? wire.origin)).host;
    const text = {
      OPTIONS: JSON.stringify({ keepAliveMs: 5_000, maxConnectionAgeMs: 0, ...options }),
      SOCKETS: sockets,
      ...(given.isKeptApart && { KEPT_APART: '1' }),
      ...(given.refusesCrossing && { NO_CROSSING: '1' }),
      ...(given.writes !== undefined && { WRITES: `${given.writes}` }),
    };
    const edge = () =>
      startWorkerd({
        bundle,
        durableObjects,
        edges: 1,
        remoteBus,
        text,
        inspected,
        compatibilityFlags,
      });
    world = new World({
      bus,
      wire,
      edges: await Promise.all([edge(), edge()]),
      folder,
      bundle,
      bindings,
      relay,
      sockets,
    });
    return world;
  }

  /** The origin of the process of the bus. */
  get bus(): string {
    return this.#bus.bus;
  }

  /** The id of the process of the bus. */
  get busPid(): number {
    return this.#bus.pid;
  }

  /** The origins of the edges. */
  get origins(): string[] {
    return this.edges.flatMap(({ edges }) => edges);
  }

  /** Sends SIGKILL to the process of the bus. */
  async killBus(): Promise<void> {
    await this.#bus.kill();
  }

  /** Starts the bus on its previous port, with the same disk or an empty one. */
  async startBus({ isDiskNew = false } = {}): Promise<void> {
    if (isDiskNew) this.#disks += 1;
    const disk = join(this.#folder, `disk-${this.#disks}`);
    this.#bus = await startBus(this.#bundle, this.#bindings, disk, portIn(this.#bus.bus));
  }

  /** Calls a method of the bus object, without the wire. */
  call<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.#callObject(BUS, method, args);
  }

  /** The counts of the bus. */
  busStats(): Promise<BusStats> {
    return this.call<BusStats>('stats');
  }

  /** Resolves once the process of the bus has run; wakes no object. */
  async untilBusRuns(): Promise<void> {
    await fetchOnce(`${this.bus}/runs`);
  }

  /** The numbers of the shards. */
  async shards(): Promise<number[]> {
    return (await this.busStats()).shards.map(({ shard }) => shard);
  }

  /** Resets the bus object, or one of its shards; the reset ends this call too. */
  async resetBus(shard?: number): Promise<void> {
    const object = shard === undefined ? BUS : `${BUS}/shard-${shard}`;
    this.#hasReset = true;
    await this.#callObject(object, 'reset', []).catch(() => {});
  }

  /** The counts of an edge. */
  async stats(edge: number): Promise<EdgeStats> {
    const response = await fetchOnce(`${this.origins[edge]}/stats`);
    return (await response.json()) as EdgeStats;
  }

  /** The bytes of the heap, the buffers and the core of an inspected edge after a collection. */
  async memory(edge: number): Promise<number> {
    const heap = await heapOf(this.edges[edge]?.inspector ?? '', () => this.stats(edge));
    const response = await fetchOnce(`${this.origins[edge]}/core-bytes`);
    return heap + ((await response.json()) as number);
  }

  /** Makes the edges refuse writes of a request to the stream of another, or accept them again. */
  async refuse(isRefusing: boolean): Promise<void> {
    await Promise.all(this.origins.map((origin) => fetchOnce(`${origin}/refuse?is=${isRefusing}`)));
  }

  /** Stalls the requests of this name at an edge; '' lets all run. */
  async stall(edge: number, name: string): Promise<void> {
    await fetchOnce(`${this.origins[edge]}/stall?request=${name}`);
  }

  /** What the processes hold, after a garbage collection if an object was reset. */
  async holding(): Promise<Holding> {
    if (this.#hasReset) await this.call('collect');
    const { attached, sockets } = await this.busStats();
    const edges = await Promise.all(this.edges.map((_, edge) => this.stats(edge)));
    const sum = (count: (stats: EdgeStats) => number) =>
      edges.reduce((all, stats) => all + count(stats), 0);
    const pids = [this.#bus, ...this.edges].map(({ pid }) => pid);
    const descriptors = (await Promise.all(pids.map(socketsOf))).reduce(
      (all, count) => all + count,
      0,
    );
    const tunnels = this.wire.tunnels.size;
    return {
      attached,
      sockets,
      streams: sum(({ open }) => open),
      timers: sum(({ timers }) => timers),
      tunnels,
      descriptors,
    };
  }

  /** Milliseconds that the processes have waited for a processor so far; 0 except on Linux. */
  waits(): Promise<number[]> {
    return waitsOf([process.pid, this.#bus.pid, ...this.edges.map(({ pid }) => pid)]);
  }

  /** The output of the processes. */
  get log(): string {
    return [this.#bus, ...this.edges].map((workerd) => workerd.log()).join('');
  }

  /** Stops all processes. */
  async stop(): Promise<void> {
    await Promise.all([this.#bus, ...this.edges].map((workerd) => workerd.kill()));
    this.#relay?.stop();
    this.wire.stop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #callObject<T>(object: string, method: string, args: unknown[]): Promise<T> {
    const headers = { connection: 'close', [OBJECT]: object };
    const response = await fetch(`${this.bus}/call/${method}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(args),
    });
    if (!response.ok)
      throw new Error(`${method} got ${response.status} ${response.headers.get('x-thrown')}`);
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}

interface Parts {
  bus: Workerd;
  wire: Wire;
  edges: Workerd[];
  sockets: 'auto' | 'each' | 'shared';
  folder: string;
  bundle: string;
  bindings: Record<string, string>;
  relay: Relay | undefined;
}

/** Resources that could leak. */
export interface Holding {
  /** Edges in the index of the bus. */
  attached: number;
  /** Sockets of the bus object. */
  sockets: number;
  /** Streams at the edges. */
  streams: number;
  /** Timers armed at the edges. */
  timers: number;
  /** Sockets on the wire. */
  tunnels: number;
  /** Sockets of all processes; 0 except on Linux. */
  descriptors: number;
}

function startBus(
  bundle: string,
  text: Record<string, string>,
  stateDir: string,
  busPort: number,
): Promise<Workerd> {
  const v8Flags = ['--expose-gc'];
  return startWorkerd({
    ...{ bundle, durableObjects, edges: 0, text, stateDir, busPort, v8Flags },
    compatibilityFlags,
  });
}

/** Bundles each fixture once. */
function bundleOf(fixture: string): Promise<string> {
  const bundle = bundles.get(fixture) ?? bundleWorker(fixture);
  bundles.set(fixture, bundle);
  return bundle;
}

/** The open sockets of a process, on Linux. */
async function socketsOf(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(
    names.map((name) => readlink(join(folder, name)).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith('socket:')).length;
}

/** Sends a request on a connection that is closed afterwards. */
async function fetchOnce(url: string): Promise<Response> {
  return fetch(url, { headers: { connection: 'close' } });
}

function portIn(origin: string): number {
  return Number(new URL(origin).port);
}

/** The default name of the bus object. */
const BUS = 'mcp-listen';
/** For `AsyncLocalStorage`, which tracks the request of each action. */
const compatibilityFlags = ['nodejs_als'];
const durableObjects = [{ binding: 'MCP_BUS', className: 'FaultyBus' }];
const bundles = new Map<string, Promise<string>>();
