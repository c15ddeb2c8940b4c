import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ProcessInterest } from '../../../../dist/bus/wanted/process-interest.js';

const NOTE = 'resource:note://a';
/** The other process. Its id comes before all others in the alphabet, so it has precedence. */
const OTHER = '0';
/** Its message that a stream of it has the topic, and that it calls the hooks. */
const HOLDS = {
  number: 1,
  isFirst: true,
  changes: ['wants', 'holds'].map((kind) => ({ kind, topic: NOTE })),
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process whose hooks record their calls; `receive` passes it a message of the other one. */
function processBesideAnother() {
  const calls: string[] = [];
  const interest = new ProcessInterest({
    wanted: {
      onWanted: (_topic, { isAgain }) => void calls.push(isAgain ? 'wanted again' : 'wanted'),
      onUnwanted: (_topic, { isTaken }) => void calls.push(isTaken ? 'taken' : 'unwanted'),
    },
    context: { bus: undefined, publish: async () => {} },
    onError: (error) => calls.push(error.message),
    sessions: { wants: () => false, change: () => ({ topics: [], isWhole: false }) },
    signal: async () => {},
  });
  interest.peers?.join();
  const receive = (message: object) =>
    interest.peers?.receive(JSON.stringify({ from: OTHER, ...message }));
  return { calls, interest, receive };
}

test('a process that releases a topic makes those that hold it begin again', async () => {
  const { calls, interest, receive } = processBesideAnother();
  await interest.want([NOTE]);
  receive({ released: [NOTE] });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toEqual(['wanted', 'taken', 'wanted again']);
});

test('of two processes that hold a topic the one without precedence yields it', async () => {
  const { calls, interest, receive } = processBesideAnother();
  await interest.want([NOTE]);
  receive(HOLDS);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toEqual(['wanted', 'taken']);
});

test('a topic of a process that leaves is taken over, and its streams may have missed changes', async () => {
  const { calls, interest, receive } = processBesideAnother();
  receive(HOLDS);
  await interest.want([NOTE]);
  expect(calls).toEqual([]);
  receive({ leaves: true });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toEqual(['wanted again']);
});

test('a topic of a process that is silent is taken over', async () => {
  const { calls, interest, receive } = processBesideAnother();
  receive(HOLDS);
  await interest.want([NOTE]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(calls).toEqual(['wanted again']);
});
