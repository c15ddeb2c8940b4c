import type { Listeners } from '../../bus/operator/operator.js';
import type { BusStats } from '../../model/stats/bus.js';
import type {
  DrainOrder,
  IsolateSnapshot,
  LoggedEvent,
  ObjectSnapshot,
  SnapshotOptions,
} from '../../model/stats/snapshot.js';

/**
 * Header of an edge's upgrade: the id of its isolate. An edge that sends it replies to questions of
 * operators on the socket.
 */
export const ISOLATE_HEADER = 'mcp-listen-isolate';

/** What an operator asks of the objects of a bus, and they of the isolates with sockets there. */
export interface OperatorQuestion extends SnapshotOptions {
  /** A caller whose streams are counted. */
  principal?: string;
  /** Streams to end. An isolate with several sockets carries out an order once, by its id. */
  drain?: DrainOrder & { id: string };
}

/** The reply of an object to a {@link OperatorQuestion}, with those of its isolates. */
export interface ObjectReply {
  /** The object; of a bus also its shards. */
  objects: ObjectSnapshot[];
  /** One for each isolate that replied in time, or more if it has sockets at several objects. */
  reports: IsolateReport[];
  /** The counters; of a bus only. */
  bus?: BusStats;
  /** The number of webhook subscriptions, of a bus that delivers to webhooks. */
  webhooks?: number | undefined;
  /** The log; of a bus only. */
  log: LoggedEvent[];
}

/** The reply of one isolate. */
export interface IsolateReport extends IsolateSnapshot {
  /** The topics with the most streams, and those of callers if they were asked for. */
  topics: Listeners;
  /** The number of streams of the caller that the question names. */
  ofPrincipal?: number;
}

/** Writes a question with the number `ask` as a frame to an isolate. */
export function questionFrame(ask: number, question: OperatorQuestion): string {
  return JSON.stringify({ operate: { ...question, ask } });
}

/** Reads a question; undefined if the frame is another one. */
export function readQuestion(frame: string): (OperatorQuestion & { ask: number }) | undefined {
  return read(frame, 'operate') as (OperatorQuestion & { ask: number }) | undefined;
}

/** Writes the report for the question `ask`. */
export function reportFrame(ask: number, report: IsolateReport): string {
  return JSON.stringify({ report: { ...report, ask } });
}

/** Reads a report; undefined if the frame is another one. */
export function readReport(frame: string): (IsolateReport & { ask: number }) | undefined {
  return read(frame, 'report') as (IsolateReport & { ask: number }) | undefined;
}

/** Frames of the core have other first members, so most frames are not parsed here. */
function read(frame: string, member: string): unknown {
  if (!frame.startsWith(`{"${member}":{`)) return undefined;
  return (JSON.parse(frame) as Record<string, unknown>)[member];
}
