import { setTimeout } from 'node:timers/promises';
import { World } from '../../faults/world.ts';
import { listen, type WireStream } from '../../host/listen.ts';
import type { Connect, ListenOnceClient } from './client.ts';

/** How the bus of a stage is set up. */
export interface StageOptions {
  /** How streams reach the bus, where that is not the default. */
  sockets?: 'each';
  /** How many sockets the bus object holds before it opens shards. */
  edgesPerShard?: number;
}

/** The clients at one edge, another edge that publishes, and the bus in a separate process. */
export class Stage {
  readonly world: World;
  readonly #clients = new Map<string, ListenOnceClient>();
  #changes = 0;
  #others: WireStream[] = [];

  private constructor(world: World) {
    this.world = world;
  }

  /** Starts the processes; resolves when every client listens. */
  static async set(clients: Record<string, Connect>, options: StageOptions): Promise<Stage> {
    const { edgesPerShard, sockets = 'auto' } = options;
    const sharding = edgesPerShard === undefined ? {} : { edgesPerShard };
    const world = await World.start({ fixture: FIXTURE, isDirect: true, sockets, ...sharding });
    const stage = new Stage(world);
    const entering = Object.entries(clients).map(([name, connect]) =>
      stage.#connect(name, connect),
    );
    const failed = (await Promise.allSettled(entering)).find(({ status }) => status === 'rejected');
    if (failed === undefined) return stage;
    await stage.stop();
    throw (failed as PromiseRejectedResult).reason;
  }

  async #connect(name: string, connect: Connect): Promise<void> {
    this.#clients.set(name, await connect(`${this.world.origins[0]}/mcp`));
  }

  /** The name of the tool since the last change. */
  get last(): string {
    return `change_${this.#changes}`;
  }

  /** One of the clients. */
  client(name: string): ListenOnceClient {
    const client = this.#clients.get(name);
    if (client === undefined) throw new Error(`there is no ${name}`);
    return client;
  }

  /** Changes the list of tools; resolves when the bus has taken the event. */
  async change(): Promise<void> {
    this.#changes += 1;
    const { origins } = this.world;
    await Promise.all(origins.map((origin) => fetch(`${origin}/change?number=${this.#changes}`)));
    while (!(await (await fetch(`${origins[1]}/publish`)).json())) await setTimeout(AGAIN_MS);
  }

  /** The clients that do not know the last change. */
  async waiting(): Promise<string[]> {
    const clients = [...this.#clients];
    const known = await Promise.all(clients.map(([, client]) => client.tools()));
    return clients.flatMap(([name], place) => (`${known[place]}` === this.last ? [] : [name]));
  }

  /** Opens streams from two continents at the other edge, so that each has a socket to the bus. */
  async enter(): Promise<void> {
    const url = `${this.world.origins[1]}/mcp?continent=`;
    const tools = { toolsListChanged: true };
    this.#others = await Promise.all(['EU', 'OC'].map((place) => listen(`${url}${place}`, tools)));
  }

  /** Drops those streams. */
  leave(): void {
    for (const stream of this.#others.splice(0)) stream.drop();
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    this.leave();
    await Promise.all([...this.#clients.values()].map((client) => client.stop()));
    await this.world.stop();
  }
}

const FIXTURE = 'wasm-tests/interop/listen-once/fixture/server';
/** Milliseconds until a publish that the bus did not take is made again. */
const AGAIN_MS = 50;
