import { InMemoryBus, type ListenHandler } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { durableObjectBus } from '../../../dist/cloudflare/edge/durable-object-bus.js';
import { poison } from '../../host/poison.ts';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, open, refusal, serving, TOOLS } from '../serving.ts';

/** What runs on after a response. */
const pending = vi.hoisted((): Promise<unknown>[] => []);

vi.mock('cloudflare:workers', () => ({
  waitUntil: (work: Promise<unknown>) => void pending.push(work),
}));

const thrown = new Error('onError is broken');

function onError(): never {
  throw thrown;
}

/** Where exceptions of `onError` go. */
let report: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  report = vi.spyOn(console, 'error').mockImplementation(() => {});
});

afterEach(() => {
  expect(report).toHaveBeenCalledWith('mcp-listen:', thrown);
  vi.restoreAllMocks();
});

async function streamsOf(server: ListenHandler) {
  const streams = [await open(server, TOOLS), await open(server, TOOLS)];
  for (const stream of streams) await stream.message();
  return streams;
}

test.each([
  ['fed together', () => new InMemoryBus({ onError: () => {} })],
  ['attached', () => new BreakableBus()],
])('streams that are %s end after a trap, though onError throws', async (_, newBus) => {
  const bus = newBus();
  const server = serving({ bus, onError });
  const streams = await streamsOf(server);
  poison();
  await expect(bus.publish({ kind: 'tools_list_changed' })).rejects.toThrow();
  for (const stream of streams) expect(await stream.message()).toBeUndefined();
  expect(server.stats()).toMatchObject({ open: 0, ended: { trapped: 2 } });
});

test('a request in which the core traps gets 503, though onError throws', async () => {
  const server = serving({ bus: new InMemoryBus({ onError: () => {} }), onError });
  poison();
  expect(await refusal(await server.fetch(listenRequest(TOOLS)))).toMatchObject({ status: 503 });
});

test('a failed publish of a Durable Object bus leaves no rejection, though onError throws', async () => {
  const getByName = () => {
    throw new Error('the object is overloaded');
  };
  const bus = durableObjectBus({ getByName } as never, { onError });
  await expect(bus.publish({ kind: 'tools_list_changed' })).rejects.toMatchObject({
    code: 'bus-unavailable',
  });
  await Promise.all(pending);
});
