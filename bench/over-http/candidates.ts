import { existsSync } from 'node:fs';
import type { Contender, Entrant } from '../harness/experiment.ts';
import { OURS } from '../harness/experiment.ts';
import { nodeServer } from './servers/node.ts';
import { pythonServer } from './servers/python.ts';
import type { LoadServer } from './servers/server.ts';
import { workerdServer } from './servers/workerd.ts';

/** A server, what its measurement includes, and how it starts. */
export interface Candidate {
  name: string;
  includes: string;
  start: (x: number) => Promise<LoadServer>;
}

/** Makes entrants of candidates. The server of a candidate that cannot be measured is stopped. */
export function entrants(
  candidates: Candidate[],
  measure: (server: LoadServer, x: number) => Promise<Contender>,
): Entrant[] {
  return candidates.map(({ name, includes, start }) => ({
    name,
    includes,
    enter: async (x) => {
      const server = await start(x);
      try {
        return await measure(server, x);
      } catch (error) {
        await server.stop();
        throw error;
      }
    },
  }));
}

/** A file system in memory, on Linux. */
const MEMORY_DISK = '/dev/shm';

const ON_WORKERD: Candidate = {
  name: OURS,
  includes:
    'publish in one isolate, the bus with its log on disk in another, match, ' +
    'a WebSocket an isolate, the edge with its streams in a third, HTTP',
  start: () => workerdServer('listen'),
};
/** Shows the cost of the disk: the same server with the log of the bus in memory. */
const IN_MEMORY: Candidate = {
  name: `${OURS}, log in memory`,
  includes:
    'as mcp-listen, but the disk of the bus is a file system in memory, ' +
    'as the other yardsticks have no disk',
  start: () => workerdServer('listen', { disk: MEMORY_DISK }),
};
/** The other configuration of the same server. */
export const IN_EACH: Candidate = {
  name: `${OURS}, a socket each`,
  includes: 'as mcp-listen, with a WebSocket for each stream',
  start: () => workerdServer('listen', { sockets: 'each' }),
};
/** In the configuration of the SDK: shows what the way over the bus costs. */
export const LOCAL: Candidate = {
  name: `${OURS}, in one isolate`,
  includes: 'publish, a bus in memory, match and streams in one isolate, HTTP',
  start: () => workerdServer('local'),
};
const SDK_ON_WORKERD: Candidate = {
  name: 'TypeScript SDK',
  includes: 'publish and streams in one isolate, match, HTTP: it delivers to no other isolate',
  start: () => workerdServer('sdk'),
};
/** Ours as the README wraps a server of the SDK. */
const AROUND: Candidate = {
  name: `${OURS}, around the SDK`,
  includes:
    'as mcp-listen, but each listen asks a handler of the SDK for the capabilities of its ' +
    'server, where mcp-listen is given them',
  start: () => workerdServer('listen', { isAround: true }),
};
const RELAY: Candidate = {
  name: 'WebSocket relay',
  includes:
    'publish in one isolate, an object that sends a ready frame to a WebSocket a stream, ' +
    'an edge that copies it, HTTP',
  start: () => workerdServer('relay', { sockets: 'each' }),
};
const SHARED_RELAY: Candidate = {
  name: 'WebSocket relay, shared',
  includes:
    'publish in one isolate, an object that sends a ready frame to a WebSocket an isolate, ' +
    'an edge that copies it to its streams, HTTP',
  start: () => workerdServer('relay'),
};
/** The same where an edge writes a wave to each stream at once, as mcp-listen does. */
export const MERGING_RELAY: Candidate = {
  name: 'WebSocket relay, a chunk a wave',
  includes:
    'as the shared relay, but the object sends the ready frames of a wave together, in one chunk',
  start: () => workerdServer('relay', { merges: true }),
};
const HELD: Candidate = {
  name: 'object-held SSE',
  includes:
    'publish in one isolate, an object that enqueues a ready frame on every response, ' +
    'an edge that passes responses on, HTTP',
  start: () => workerdServer('held'),
};
/** The least that any server in one isolate does. */
export const LIMIT: Candidate = {
  name: 'enqueue only',
  includes:
    'publish and streams in one isolate, the ready frames of a publish enqueued on every ' +
    'response as one chunk, HTTP: it reads no listen and delivers to no other isolate',
  start: () => workerdServer('limit'),
};
export const WORKERS = [ON_WORKERD, SDK_ON_WORKERD, SHARED_RELAY, RELAY, HELD];
/** Ours with its log in memory, where there is a file system in memory. */
export const MEMORY = existsSync(MEMORY_DISK) ? [IN_MEMORY] : [];
export const WORKERS_AND_MEMORY = [...WORKERS, ...MEMORY];
export const PEERS = [ON_WORKERD, SDK_ON_WORKERD];
export const OPENERS = [...PEERS, AROUND];
export const ALONE = [ON_WORKERD];

export const PROCESSES: Candidate[] = [
  {
    name: `${OURS} on Node`,
    includes: "publish, match, Node's HTTP by `toNodeHandler`, all in one process",
    start: () => nodeServer('listen'),
  },
  {
    name: 'TypeScript SDK on Node',
    includes: "publish, match, Node's HTTP by the SDK's `toNodeHandler`, all in one process",
    start: () => nodeServer('sdk'),
  },
  {
    name: 'Python SDK',
    includes: 'publish, match, uvicorn, all in one process',
    start: pythonServer,
  },
];

/** The least that any server on Node's HTTP does. */
export const NODE_LIMIT: Candidate = {
  name: 'write only',
  includes:
    "the ready frames of a publish written to every response of Node's HTTP as one chunk, " +
    'all in one process: it reads no listen',
  start: () => nodeServer('limit'),
};

/** Servers with streams in four isolates, beside the SDK with all of them in one. */
export const IN_FOUR: Candidate[] = [
  { ...ON_WORKERD, start: () => workerdServer('listen', { isolates: 4 }) },
  {
    ...SDK_ON_WORKERD,
    includes: `${SDK_ON_WORKERD.includes}, so all streams are in that one`,
  },
  { ...SHARED_RELAY, start: () => workerdServer('relay', { isolates: 4 }) },
];
export const MERGING_RELAY_IN_FOUR: Candidate = {
  ...MERGING_RELAY,
  start: () => workerdServer('relay', { isolates: 4, merges: true }),
};
/** Ours with a bus that accepts no connection. */
export const AWAY: Candidate[] = [
  { ...ON_WORKERD, start: () => workerdServer('listen', { isAway: true }) },
];
/** A Worker that calls an empty method of an object. */
export const TRIP: Candidate = {
  name: 'a round trip to an object',
  includes: 'a call from a Worker to an object that does nothing, and its reply; no HTTP',
  start: () => workerdServer('listen'),
};

/** A Worker and an object that sends each message of a WebSocket back. */
export const ECHO: Candidate = {
  name: 'an echo over a WebSocket',
  includes:
    'a message from a Worker over a WebSocket to an object that may hibernate, ' +
    'and the same message back; no HTTP',
  start: () => workerdServer('listen'),
};

/** Ours with a socket for each stream and a bounded bus object, which opens shards beyond that. */
export function sharded(edgesPerShard: (shards: number) => number): Candidate[] {
  const start = async (shards: number): Promise<LoadServer> =>
    workerdServer('listen', { edgesPerShard: edgesPerShard(shards), sockets: 'each' });
  return [{ ...ON_WORKERD, start }];
}
