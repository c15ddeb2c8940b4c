import { setTimeout } from 'node:timers/promises';
import type { ServerEvent, TaskState } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { taskNotification, taskState, updated, WITH_TASKS } from '../../host/listen.ts';
import { declaring } from '../../host/options.ts';
import { open, serving } from '../serving.ts';

describe('10,000 changes within a second, read at a frame per 100 ms,', () => {
  test('of a URI are at most 15 frames, one of them after the last change', async () => {
    const server = serving();
    const stream = await open(server, { resourceSubscriptions: ['note://a', 'note://after'] });
    await stream.message();
    const frames = readSlowly(() => stream.message(), updated('1', 'note://after'));
    const most = await publishStorm(
      (change) => void server.bus.publish(change),
      () => ({ kind: 'resource_updated', uri: 'note://a' }),
    );
    const notifications = server.stats().notifications;
    await server.bus.publish({ kind: 'resource_updated', uri: 'note://a' });
    await server.bus.publish({ kind: 'resource_updated', uri: 'note://after' });
    const read = await frames;
    expect(read.pop()).toBe(updated('1', 'note://after'));
    expect(read.length).toBeLessThanOrEqual(most);
    // So at least one frame was written after the last change.
    expect(read.length).toBeGreaterThan(notifications);
  });

  test('of a task are at most 15 frames, the last of them with the last state', async () => {
    const server = serving({
      server: declaring({ extensions: { 'io.modelcontextprotocol/tasks': {} } }),
    });
    const stream = await open(server, { taskIds: ['t'] }, { capabilities: WITH_TASKS });
    await stream.message();
    const last = taskNotification('1', stateOf(CHANGES - 1));
    const frames = readSlowly(() => stream.message(), last);
    const most = await publishStorm(
      (change) => void server.bus.publish(change),
      (change) => ({ kind: 'task_status', task: stateOf(change) }),
    );
    const read = await frames;
    expect(read.length).toBeLessThanOrEqual(most);
    expect(read.at(-1)).toBe(last);
  });
});

function stateOf(change: number): TaskState {
  return { ...taskState('t'), statusMessage: `${change}` };
}

/**
 * Publishes `CHANGES` events within a second, in a hundred bursts. Resolves with the most frames
 * that may be read: one more for each 100 ms that a busy machine took longer.
 */
async function publishStorm(
  publish: (event: ServerEvent) => void,
  eventOf: (change: number) => ServerEvent,
): Promise<number> {
  const began = performance.now();
  for (let change = 0; change < CHANGES; change += 1) {
    if (change % BURST === 0)
      await setTimeout(Math.max(began + (change / CHANGES) * STORM_MS - performance.now(), 0));
    publish(eventOf(change));
  }
  const late = Math.max(performance.now() - began - STORM_MS, 0);
  return MOST + Math.ceil(late / READ_MS);
}

/** Reads one frame every 100 ms, up to `last` or up to three times as many as expected. */
async function readSlowly(
  next: () => Promise<string | undefined>,
  last: string,
): Promise<string[]> {
  const frames: string[] = [];
  while (frames.at(-1) !== last && frames.length < 3 * MOST) {
    await setTimeout(READ_MS);
    const frame = await next();
    if (frame === undefined) break;
    frames.push(frame);
  }
  return frames;
}

const CHANGES = 10_000;
const BURST = 100;
const STORM_MS = 1_000;
const READ_MS = 100;
const MOST = 15;
