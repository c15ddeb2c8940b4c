import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestContext } from '../../../dist/timing/request-context.js';
import { listChanged } from '../../host/listen.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { open, RESULT, serving, TOOLS } from '../serving.ts';

/** What streams want done in their own requests, which waits where a test says so. */
let errands: (() => void)[] = [];
let isWaiting = false;
const { run } = RequestContext.prototype;

beforeEach(() => {
  errands = [];
  isWaiting = false;
  vi.spyOn(RequestContext.prototype, 'run').mockImplementation(function (
    this: RequestContext,
    task,
  ) {
    if (isWaiting) errands.push(() => run.call(this, task));
    else run.call(this, task);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** The streams' own requests do what they were asked. */
async function atHome(): Promise<void> {
  isWaiting = false;
  for (const task of errands.splice(0)) task();
  await new Promise(setImmediate);
}

test('what another request may not write is written by that of the stream, which stays open', async () => {
  const { refuse, server, stream } = await acknowledged({ ...TOOLS, promptsListChanged: true });
  const accept = refuse();
  await server.notify.toolsChanged();
  await server.notify.promptsChanged();
  await turn();
  accept();
  await atHome();
  expect(server.stats()).toMatchObject({ open: 1, ended: { aborted: 0 } });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  stream.drop();
});

test('a stream whose own request may not write to it ends', async () => {
  const { refuse, server } = await acknowledged(TOOLS);
  refuse();
  await server.notify.toolsChanged();
  await turn();
  await atHome();
  await expect.poll(() => server.stats()).toMatchObject({ open: 0, ended: { aborted: 1 } });
});

test('a chunk that waits for the request of its stream is written before what is left at a close', async () => {
  const { refuse, server, stream } = await acknowledged(TOOLS);
  const accept = refuse();
  await server.notify.toolsChanged();
  await turn();
  accept();
  const closed = server.close();
  await atHome();
  await closed;
  expect([await stream.message(), await stream.message()]).toEqual([
    listChanged('1', 'tools'),
    RESULT,
  ]);
});

/** A stream that waits for what comes, on a connection that it shares. */
async function acknowledged(filter: object) {
  const bus = new BreakableBus('shared');
  const server = serving({ bus, keepAliveMs: 0 });
  const stream = await open(server, filter);
  expect(await stream.message()).toContain('acknowledged');
  const { prototype } = ReadableStreamDefaultController;
  /** From now on nothing may be written, until the answer is called. */
  const refuse = (): (() => void) => {
    isWaiting = true;
    const refused = vi.spyOn(prototype, 'enqueue').mockImplementation(() => {
      throw new Error('on behalf of a different request');
    });
    return () => refused.mockRestore();
  };
  return { refuse, server, stream };
}

/** What comes in one turn of the event loop is written after it. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
