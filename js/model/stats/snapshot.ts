import type { BusStats } from './bus.js';
import type { ListenStats } from './listen.js';

/** One moment of a bus: what `GET /stats` returns, and each event of its stream. */
export interface Snapshot {
  /** When it was taken, in milliseconds since 1970. */
  at: number;
  /** The id of the isolate that responded; one of `isolates`. */
  isolate: string;
  /** The streams of the isolate that responded. */
  streams: ListenStats;
  /** The counters of the bus object; absent for a bus without a Durable Object. */
  bus?: BusStats;
  /** The number of webhook subscriptions; absent if the bus delivers to none. */
  webhooks?: number;
  /** The bus object, which is 0, and its shards; empty for a bus without a Durable Object. */
  objects: ObjectSnapshot[];
  /**
   * The isolates that hold streams of the bus and replied in time, and the one that responded; for
   * a bus without a Durable Object only the process that responded.
   */
  isolates: IsolateSnapshot[];
  /** The topics with the most streams, largest first. */
  topics: TopicListeners[];
  /** The principals and groups with the most streams. Only if they were asked for. */
  callers?: TopicListeners[];
  /** The last events of the log, oldest first; empty for a bus without a Durable Object. */
  log: LoggedEvent[];
}

/** The bus object or one of its shards. */
export interface ObjectSnapshot {
  /** The number of the shard; 0 for the bus object. */
  shard: number;
  /** The continent whose clients the shard was opened for; empty if unknown. */
  continent: string;
  /** Streams and shared sockets that are attached here; undefined if the object did not reply. */
  attached: number | undefined;
  /** The number of sockets of each isolate, by its id. */
  sockets: Record<string, number>;
}

/** The streams of one isolate, or of one process. */
export interface IsolateSnapshot {
  /** A random id, as long as the isolate lives. */
  isolate: string;
  /** The counters of all servers of the isolate on this bus. */
  streams: ListenStats;
}

/** How many streams receive a topic. */
export interface TopicListeners {
  /**
   * `tools`, `prompts`, `resources`, `events`, `resource:` and a URI, or `task:` and an id; of
   * callers `principal:` or `group:` and a name.
   */
  topic: string;
  /** The number of streams. */
  streams: number;
}

/** An event of the log. */
export interface LoggedEvent {
  /** Its position in the log. */
  position: number;
  /** When it was published, in milliseconds since 1970. */
  at: number;
  /** The event. Names of principals and groups are left out unless they were asked for. */
  event: {
    /** The kind of the event. */
    kind: string;
    [member: string]: unknown;
  };
}

/** What a snapshot contains. */
export interface SnapshotOptions {
  /** Whether it names principals and groups. */
  hasCallers: boolean;
  /** Only events of the log after this position. */
  after: number;
}

/** Which streams to end without a result. */
export interface DrainOrder {
  /**
   * The isolate whose streams to end; undefined for the one that responds and all that hold
   * streams, or for the process that responds if the bus has no Durable Object.
   */
  isolate?: string | undefined;
  /** The number of streams that each isolate ends, oldest first; undefined for all. */
  count?: number | undefined;
  /** Milliseconds over which they end. */
  windowMs: number;
}
