import type { StreamLogRecord } from 'mcp-listen';
import { expect, test, vi } from 'vitest';
import { BreakableBus } from '../bus/breakable-bus.ts';
import { listenRequest, open, serving, TOOLS } from '../serving.ts';
import { useFakeTime } from '../streams/fake-time.ts';

useFakeTime();

test('onLog receives a record of each stream that opens or ends, with its reason', async () => {
  const records: StreamLogRecord[] = [];
  const server = serving({ onLog: (record) => records.push(record) });
  const stream = await open(server, TOOLS);
  await stream.message();
  await vi.advanceTimersByTimeAsync(1_500);
  stream.drop();
  await expect.poll(() => records).toHaveLength(2);
  const last = await open(server, TOOLS);
  await last.message();
  const closing = server.close();
  await last.message();
  await closing;
  expect(records).toEqual([
    { event: 'open', stream: 'listen' },
    { event: 'end', stream: 'listen', reason: 'left', ageMs: 1_500 },
    { event: 'open', stream: 'listen' },
    { event: 'end', stream: 'listen', reason: 'closed', ageMs: 0 },
  ]);
});

test('onLog receives the reason of each refusal', async () => {
  const records: StreamLogRecord[] = [];
  const server = serving({
    onLog: (record) => records.push(record),
    authorize: ({ requested }) => (requested.promptsListChanged ? { denied: 403 } : requested),
  });
  await server.fetch(listenRequest('nonsense'));
  await server.fetch(listenRequest(TOOLS, { headers: { accept: 'text/html' } }));
  await server.fetch(listenRequest({ promptsListChanged: true }));
  await server.close();
  await server.fetch(listenRequest(TOOLS));
  expect(records).toEqual(
    ['request', 'http', 'forbidden', 'closing'].map((reason) => ({ event: 'refuse', reason })),
  );
});

test.each([
  ['lost', 'down'],
  ['overloaded', 'overloaded'],
] as const)(
  'onLog receives one record when a bus is %s, and one when it is back',
  async (_what, availability) => {
    const records: StreamLogRecord[] = [];
    const bus = new BreakableBus();
    // The stream is not read meanwhile.
    const patient = { timeouts: { writeMs: 0, attachMs: 1_000 } };
    const server = serving({ bus, onLog: (record) => records.push(record), ...patient });
    const opening = open(server, { resourceSubscriptions: ['note://secret'] }, { id: '"private"' });
    await vi.advanceTimersByTimeAsync(1);
    const stream = await opening;
    await stream.message();
    bus.availability = availability;
    bus.lose();
    await vi.advanceTimersByTimeAsync(40_000);
    bus.availability = 'open';
    await vi.advanceTimersByTimeAsync(60_000);
    expect(records.map(({ event }) => event)).toEqual(['open', 'outage', 'heal']);
    const [, outage, heal] = records;
    expect(outage).toEqual({ event: 'outage', streams: 1 });
    expect(heal).toEqual({ event: 'heal', streams: 1, awayMs: expect.any(Number) });
    expect((heal as { awayMs: number }).awayMs).toBeGreaterThanOrEqual(40_000);
    expect(JSON.stringify(records)).not.toMatch(/secret|private/);
  },
);

test('an onLog that throws affects no stream', async () => {
  const errors: Error[] = [];
  const onLog = (): void => {
    throw new Error('full');
  };
  const server = serving({ onLog, onError: (error) => errors.push(error) });
  const stream = await open(server, TOOLS);
  expect(await stream.message()).toContain('acknowledged');
  await server.notify.toolsChanged();
  expect(await stream.message()).toContain('tools/list_changed');
  expect((await server.fetch(listenRequest('nonsense'))).status).toBe(400);
  await server.close();
  expect(errors.map(({ message }) => message)).toEqual(['full', 'full', 'full']);
});
