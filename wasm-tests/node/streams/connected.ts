import { InMemoryBus, type ListenHandler, type StreamLogRecord } from 'mcp-listen';
import { expect, vi } from 'vitest';
import type { Opening } from '../../../dist/bus/opening.js';
import { BusSocket } from '../../../dist/cloudflare/edge/bus-socket.js';
import { SharedConnection } from '../../../dist/streams/connection/shared-connection.js';
import { UpstreamCounters } from '../../../dist/streams/connection/upstream-counters.js';
import { RequestContext } from '../../../dist/timing/request-context.js';
import { SmallBus, URI } from '../bus/small-bus.ts';
import { open, serving as serve } from '../serving.ts';

/** A shared connection with `count` streams, each acknowledged unless `isEarly`. */
export async function connected(count: number, { attachMs = 5_000, isEarly = false } = {}) {
  const records: StreamLogRecord[] = [];
  const bus = new SmallBus();
  const refused: string[] = [];
  const connection = new SharedConnection({
    connect: (frame, link) =>
      new BusSocket(bus.connector, { continent: '', isSession: false }, frame, link),
    waitUntil: bus.connector.waitUntil,
    attachMs,
    busProbeIntervalMs: 0,
    counters: new UpstreamCounters(),
    isShared: true,
    hasOwnContexts: true,
    onError: (error) => refused.push(error.message),
    onLog: (record) => records.push(record),
    onRefused: (error) => refused.push(error.message),
    onMoved: () => expect.unreachable('no stream has to leave'),
    onEmpty: () => {},
  });
  const inner = new InMemoryBus();
  const probes = { ms: 0 };
  const openStream = async (opening: Opening) => connection.open(opening, probes.ms);
  const server = serve({
    bus: Object.assign(inner, { openStream }),
    keepAliveMs: 0,
    onError: () => {},
  });
  const lost: number[] = [];
  const aborts: AbortController[] = [];
  const attach = (filter: object = FILTER): string[] => {
    const frames: string[] = [];
    const abort = new AbortController();
    const place = aborts.push(abort) - 1;
    void read(server, abort, frames, filter).then(() => {
      if (!abort.signal.aborted) lost.push(place);
    });
    return frames;
  };
  const received = Array.from({ length: count }, () => attach());
  await vi.advanceTimersByTimeAsync(isEarly ? 0 : 10);
  if (!isEarly) for (const frames of received) expect(frames).toHaveLength(1);
  return {
    attach,
    bus,
    received,
    connection,
    lost,
    /** The interval at which streams that open from now on have the bus probed. */
    probes,
    records,
    refused,
    server,
    leave: (place: number) => aborts[place]?.abort(),
  };
}

/** Hands the tasks of some requests to `intercept` instead of running them. */
export function interceptTasks(
  isIntercepted: (context: RequestContext) => boolean,
  intercept: (task: () => void) => void,
): void {
  const { run } = RequestContext.prototype;
  vi.spyOn(RequestContext.prototype, 'run').mockImplementation(function (
    this: RequestContext,
    task,
  ) {
    if (isIntercepted(this)) intercept(task);
    else run.call(this, task);
  });
}

/** Reads a stream to its end. */
async function read(
  server: ListenHandler,
  abort: AbortController,
  frames: string[],
  filter: object,
): Promise<void> {
  try {
    const stream = await open(server, filter, { abort });
    for (let frame = await stream.message(); frame !== undefined; frame = await stream.message())
      frames.push(frame);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
}

const FILTER = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] };
