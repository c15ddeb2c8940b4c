import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ListenHandlerOptions, ListenStats } from 'mcp-listen';
import type { BusStats } from 'mcp-listen/cloudflare';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../host/bundle.ts';
import { lastingPort } from '../host/port.ts';
import { OBJECT } from './fixture/object.ts';
import { type Pieces, Relay } from './wire/relay.ts';
import { Wire } from './wire/wire.ts';

/** How a world is made. */
export interface WorldOptions {
  /** Options of every edge's server; those that JSON can carry. */
  options?: ListenHandlerOptions;
  /** Whether edges reach the bus without the wire between them. */
  isDirect?: boolean;
  /** In which pieces bytes cross between the edges and the wire. */
  pieces?: Pieces;
  /** Whether a debugger may attach to the edges. */
  inspected?: boolean;
  /** The option `sockets` of the bus; default `auto`, as users get it. */
  sockets?: 'auto' | 'each' | 'shared';
  /**
   * Whether requests at the edges can be stalled, and what one writes to the stream of another
   * refused.
   */
  isKeptApart?: boolean;
  /** Whether such writes are refused from the beginning. */
  refusesCrossing?: boolean;
  /**
   * Writes for other streams after which a request hands the shared connection on (default: as
   * users get it).
   */
  writes?: number;
  /** How many streams the bus holds before it opens shards. */
  edgesPerShard?: number;
  /** The folder of the Worker of all processes (default: that of the faults). */
  fixture?: string;
}

/** What an edge says of itself. */
export interface EdgeStats extends ListenStats {
  timers: number;
  complaints: Record<string, number>;
}

/** The processes: one with the bus, two with an edge each; and the wire between them. */
export class World {
  readonly wire: Wire;
  readonly edges: Workerd[];
  /** How streams reach the bus. */
  readonly sockets: 'auto' | 'each' | 'shared';
  #bus: Workerd;
  readonly #folder: string;
  readonly #bundle: string;
  readonly #relay: Relay | undefined;
  readonly #bindings: Record<string, string>;
  #disks = 0;
  /** Whether the process of the bus has an object to collect that was reset. */
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

  /** The process of the bus, for signals. */
  get busPid(): number {
    return this.#bus.pid;
  }

  /** The origins of the edges. */
  get origins(): string[] {
    return this.edges.flatMap(({ edges }) => edges);
  }

  /** SIGKILL for the process of the bus. */
  async killBus(): Promise<void> {
    await this.#bus.kill();
  }

  /** Starts the bus where it was, on the same disk or on an empty one; resolves when it listens. */
  async startBus({ isDiskNew = false } = {}): Promise<void> {
    if (isDiskNew) this.#disks += 1;
    const disk = join(this.#folder, `disk-${this.#disks}`);
    this.#bus = await startBus(this.#bundle, this.#bindings, disk, portIn(this.#bus.bus));
  }

  /** Calls the bus object in its own process, past the wire. */
  call<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.#ask(BUS, method, args);
  }

  /** What the bus says of itself. */
  busStats(): Promise<BusStats> {
    return this.call<BusStats>('stats');
  }

  /** The shards of the bus. */
  async shards(): Promise<number[]> {
    return (await this.busStats()).shards.map(({ shard }) => shard);
  }

  /** Resets the bus object, or one of its shards; the reset cuts the very call that asks for it. */
  async resetBus(shard?: number): Promise<void> {
    const object = shard === undefined ? BUS : `${BUS}/shard-${shard}`;
    this.#hasReset = true;
    await this.#ask(object, 'reset', []).catch(() => {});
  }

  /** What an edge says of itself. */
  async stats(edge: number): Promise<EdgeStats> {
    const response = await got(`${this.origins[edge]}/stats`);
    return (await response.json()) as EdgeStats;
  }

  /**
   * From now on the edges refuse what one request writes to the stream of another, or no longer.
   */
  async refuse(isRefusing: boolean): Promise<void> {
    await Promise.all(this.origins.map((origin) => got(`${origin}/refuse?is=${isRefusing}`)));
  }

  /** Nothing runs any more at an edge on behalf of requests of this name; '': all run. */
  async stall(edge: number, name: string): Promise<void> {
    await got(`${this.origins[edge]}/stall?request=${name}`);
  }

  /**
   * What the processes hold now: not what an object that was reset leaves to the collector of
   * garbage.
   */
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

  /**
   * Milliseconds for which the bus, the edges and this process have waited for a processor so far,
   * as the operating system counts them; 0 where it does not tell.
   */
  waits(): Promise<number[]> {
    const pids = [process.pid, this.#bus.pid, ...this.edges.map(({ pid }) => pid)];
    return Promise.all(pids.map(waitOf));
  }

  /** What the processes wrote. */
  get log(): string {
    return [this.#bus, ...this.edges].map((workerd) => workerd.log()).join('');
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    await Promise.all([this.#bus, ...this.edges].map((workerd) => workerd.kill()));
    this.#relay?.stop();
    this.wire.stop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #ask<T>(object: string, method: string, args: unknown[]): Promise<T> {
    const headers = { connection: 'close', [OBJECT]: object };
    const answer = await fetch(`${this.bus}/call/${method}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(args),
    });
    if (!answer.ok)
      throw new Error(
        `${method} was answered with ${answer.status} ${answer.headers.get('x-thrown')}`,
      );
    const text = await answer.text();
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

/** What could leak. */
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
  /**
   * Sockets of all the processes, as the operating system counts them; 0 where it does not tell.
   */
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

/** Linux alone tells what a process holds open. */
async function socketsOf(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(
    names.map((name) => readlink(join(folder, name)).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith('socket:')).length;
}

/** Linux alone tells how long a process could run and did not, in nanoseconds. */
async function waitOf(pid: number): Promise<number> {
  const [, ns = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')).split(
    ' ',
  );
  return Number(ns) / 1e6;
}

/** A request on a connection that is not kept. */
async function got(url: string): Promise<Response> {
  return fetch(url, { headers: { connection: 'close' } });
}

function portIn(origin: string): number {
  return Number(new URL(origin).port);
}

/** The object that is the bus, where nobody has named another. */
const BUS = 'mcp-listen';
/** Tells apart on behalf of which request something runs. */
const compatibilityFlags = ['nodejs_als'];
const durableObjects = [{ binding: 'MCP_BUS', className: 'FaultyBus' }];
const bundles = new Map<string, Promise<string>>();
