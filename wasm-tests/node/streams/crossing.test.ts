import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestContext } from '../../../dist/timing/request-context.js';
import { listChanged } from '../../host/listen.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { open, RESULT, serving, TOOLS } from '../serving.ts';

/** Tasks for the requests of streams, which are held back while `isWaiting`. */
let tasks: (() => void)[] = [];
let isWaiting = false;
const { run } = RequestContext.prototype;

beforeEach(() => {
  tasks = [];
  isWaiting = false;
  vi.spyOn(RequestContext.prototype, 'run').mockImplementation(function (
    this: RequestContext,
    task,
  ) {
    if (isWaiting) tasks.push(() => run.call(this, task));
    else run.call(this, task);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs the tasks that were held back. */
async function runTasks(): Promise<void> {
  isWaiting = false;
  for (const task of tasks.splice(0)) task();
  await new Promise(setImmediate);
}

test('a refused write is made by the request of the stream, which stays open', async () => {
  const { refuse, server, stream } = await acknowledged({ ...TOOLS, promptsListChanged: true });
  const accept = refuse();
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  await turn();
  accept();
  await runTasks();
  expect(server.stats()).toMatchObject({ open: 1, ended: { aborted: 0 } });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  stream.drop();
});

test('a stream ends where its own request may not write to it either', async () => {
  const { refuse, server } = await acknowledged(TOOLS);
  refuse();
  await server.notify.toolsChanged();
  await turn();
  await runTasks();
  await expect.poll(() => server.stats()).toMatchObject({ open: 0, ended: { aborted: 1 } });
});

test('a chunk that waits for the request of its stream is written before what close adds', async () => {
  const { refuse, server, stream } = await acknowledged(TOOLS);
  const accept = refuse();
  await server.notify.toolsChanged();
  await turn();
  accept();
  const closed = server.close();
  await runTasks();
  await closed;
  expect([await stream.message(), await stream.message()]).toEqual([
    listChanged('1', 'tools'),
    RESULT,
  ]);
});

/** An acknowledged stream on a shared connection. */
async function acknowledged(filter: object) {
  const bus = new BreakableBus('shared');
  const server = serving({ bus, keepAliveMs: 0 });
  const stream = await open(server, filter);
  expect(await stream.message()).toContain('acknowledged');
  const { prototype } = ReadableStreamDefaultController;
  /** Refuses all writes until the returned function is called. */
  const refuse = (): (() => void) => {
    isWaiting = true;
    const refused = vi.spyOn(prototype, 'enqueue').mockImplementation(() => {
      throw new Error('on behalf of a different request');
    });
    return () => refused.mockRestore();
  };
  return { refuse, server, stream };
}

/** Waits past the turn of the event loop, after which streams are written to. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
