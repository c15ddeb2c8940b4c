import { ListenError, type PrincipalResult } from 'mcp-listen';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { askingUpstream, rateLimited } from '../../../dist/auth/outage.js';
import { listChanged } from '../../host/listen.ts';
import { open, serving, TOOLS } from '../serving.ts';

const CUE = listChanged('1', 'tools');
const MINUTE = 60_000;

// Streams are written to after the turn of the event loop in which an event arrives.
beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 }));
afterEach(() => void vi.useRealTimers());

type Result = () => PrincipalResult | Promise<PrincipalResult>;

const ADMITTED: Result = () => 'ann';

function fails(code: ConstructorParameters<typeof ListenError>[0]): Result {
  return () => Promise.reject(new ListenError(code, 'the upstream server is down'));
}

/** An open stream of a server whose `principal` has results that the test can change. */
async function streaming(mark: <Ask extends object>(ask: Ask) => Ask = askingUpstream) {
  const caller = { result: ADMITTED };
  const principal = mark(() => caller.result());
  const server = serving({ principal, keepAliveMs: 0, onError: () => {} });
  const stream = await open(server, TOOLS);
  await stream.message();
  /** Publishes a change after this time; resolves with what the stream receives. */
  const receive = async (ms: number): Promise<string | undefined> => {
    await vi.advanceTimersByTimeAsync(ms);
    await server.notify.toolsChanged();
    const message = stream.message();
    // The longest time that `principal` may take.
    await vi.advanceTimersByTimeAsync(2_000);
    return message;
  };
  return { caller, receive, server };
}

test.each<[string, Result]>([
  ['is unreachable', fails('upstream-unreachable')],
  ['does not complete its response', fails('upstream-timeout')],
  ['does not respond', () => new Promise<never>(() => {})],
])('while the upstream server %s, a stream gets its notifications', async (_, result) => {
  const { caller, receive } = await streaming();
  caller.result = result;
  expect(await receive(MINUTE)).toBe(CUE);
  expect(await receive(MINUTE)).toBe(CUE);
});

test('ten minutes after its last result has expired, a stream ends', async () => {
  const { caller, receive, server } = await streaming();
  caller.result = fails('upstream-unreachable');
  for (let minute = 0; minute < 9; minute += 1) expect(await receive(MINUTE)).toBe(CUE);
  caller.result = ADMITTED;
  expect(await receive(MINUTE)).toBe(CUE);
  caller.result = fails('upstream-unreachable');
  for (let minute = 0; minute < 10; minute += 1) expect(await receive(MINUTE)).toBe(CUE);
  expect(await receive(MINUTE)).toBeUndefined();
  expect(server.stats().ended).toMatchObject({ denied: 1 });
});

test('a stream gets its notifications for a minute after the upstream server begins to limit the rate', async () => {
  const { caller, receive, server } = await streaming();
  const error = new ListenError('upstream-unreachable', 'the upstream server responded with 429');
  caller.result = () => Promise.reject(rateLimited(error));
  // It is not checked while it has nothing to receive.
  expect(await receive(5 * MINUTE)).toBe(CUE);
  expect(await receive(MINUTE / 2)).toBe(CUE);
  expect(await receive(MINUTE)).toBeUndefined();
  expect(server.stats().ended).toMatchObject({ denied: 1 });
});

test.each<[string, Result]>([
  ['denies the caller', () => ({ denied: 401 })],
  ['names another caller', () => 'eve'],
  ['fails for another reason', fails('discover-failed')],
])('a stream ends if the upstream server %s after an outage', async (_, result) => {
  const { caller, receive } = await streaming();
  caller.result = fails('upstream-unreachable');
  expect(await receive(MINUTE)).toBe(CUE);
  caller.result = result;
  expect(await receive(MINUTE)).toBeUndefined();
});

test('a principal of an application that fails in the same way ends a stream', async () => {
  const { caller, receive } = await streaming((ask) => ask);
  caller.result = fails('upstream-unreachable');
  expect(await receive(MINUTE)).toBeUndefined();
});
