import type { BusAttachment, BusLink, Joining, SubscriptionFilter } from 'mcp-listen';
import { afterEach, expect, test, vi } from 'vitest';
import { listChanged } from '../host/listen.ts';
import { BreakableBus } from './breakable-bus.ts';
import { open, serving, TOOLS } from './serving.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** A bus that delivers in other requests than those of its streams, whose errands wait. */
class CrossingBus extends BreakableBus {
  readonly errands: (() => void)[] = [];

  override attach(filter: SubscriptionFilter, link: BusLink, joining?: Joining): BusAttachment {
    const home = { ask: (errand: () => void) => void this.errands.push(errand) };
    return { ...super.attach(filter, link, joining), home };
  }

  /** Runs what streams want done in their own requests. */
  runErrands(): void {
    for (const errand of this.errands.splice(0)) errand();
  }
}

test('what another request may not write is written by that of the stream, which stays open', async () => {
  const bus = new CrossingBus();
  const server = serving({ bus, keepAliveMs: 0 });
  const stream = await open(server, { ...TOOLS, promptsListChanged: true });
  expect(await stream.message()).toContain('acknowledged');
  bus.runErrands();
  const { enqueue } = ReadableStreamDefaultController.prototype;
  vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue').mockImplementation(() => {
    throw new Error('on behalf of a different request');
  });
  await server.notify.toolsChanged().catch(() => {});
  await server.notify.promptsChanged().catch(() => {});
  vi.mocked(ReadableStreamDefaultController.prototype.enqueue).mockImplementation(enqueue);
  bus.runErrands();
  expect(server.stats()).toMatchObject({ open: 1, ended: { aborted: 0 } });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(await stream.message()).toBe(listChanged('1', 'prompts'));
  stream.drop();
});

test('a stream whose own request may not write to it ends', async () => {
  const bus = new CrossingBus();
  const server = serving({ bus, keepAliveMs: 0 });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  vi.spyOn(ReadableStreamDefaultController.prototype, 'enqueue').mockImplementation(() => {
    throw new Error('refused');
  });
  await server.notify.toolsChanged().catch(() => {});
  bus.runErrands();
  await expect.poll(() => server.stats()).toMatchObject({ open: 0, ended: { aborted: 1 } });
});
