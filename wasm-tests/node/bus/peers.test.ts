import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PeerInterests } from '../../../dist/bus/wanted/peer-interests.js';
import signals from '../../corpus/brokers/signals.json' with { type: 'json' };

type Id = ReturnType<typeof crypto.randomUUID>;

const NOTE = 'resource:note://a';
const IGNORING = { onChange: () => {}, onReleased: () => {}, streamsOf: () => 0 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The state of {@link NOTE} at a process. */
function note(isWanted: boolean, isHeld: boolean) {
  return [{ topic: NOTE, isWanted, isHeld }];
}

/**
 * Processes that receive each other's texts, except for those that `loses` names. At the first one
 * each caller has one stream, at the second one two, and so on.
 */
function processes(count: number) {
  const state = { loses: (_text: string): boolean => false };
  const all: PeerInterests[] = [];
  for (let index = 0; index < count; index += 1) {
    const send = async (text: string) => {
      if (state.loses(text)) return;
      for (const peer of all) peer.receive(text);
    };
    all.push(new PeerInterests(send, { ...IGNORING, streamsOf: () => index + 1 }));
  }
  for (const peer of all) peer.join();
  vi.advanceTimersByTime(1_000);
  return { all: all as [PeerInterests, PeerInterests], state };
}

test('each process knows what the others want and hold', () => {
  const { all } = processes(2);
  all[0].update(note(true, true));
  expect([all[1].isWanted(NOTE), all[1].isHeld(NOTE), all[1].isMine(NOTE)]).toEqual([
    true,
    true,
    false,
  ]);
  all[0].update(note(false, false));
  expect([all[1].isWanted(NOTE), all[1].isHeld(NOTE), all[1].isMine(NOTE)]).toEqual([
    false,
    false,
    true,
  ]);
});

test('a change that was lost is asked for with the next message', () => {
  const { all, state } = processes(2);
  state.loses = (text) => text.includes('changes');
  all[0].update(note(true, false));
  expect(all[1].isWanted(NOTE)).toBe(false);
  state.loses = () => false;
  vi.advanceTimersByTime(3_000);
  expect(all[1].isWanted(NOTE)).toBe(true);
});

test('many long topics travel in messages that every broker carries', () => {
  const { all, state } = processes(2);
  const topics = Array.from({ length: 500 }, (_, index) => `${NOTE}/${index}/${'x'.repeat(1_000)}`);
  let longest = 0;
  state.loses = (text) => {
    longest = Math.max(longest, text.length);
    return false;
  };
  all[0].update(topics.map((topic) => ({ topic, isWanted: true, isHeld: false })));
  expect(topics.filter((topic) => !all[1].isWanted(topic))).toEqual([]);
  expect(longest).toBeLessThan(7_999);
});

test('a process that is silent counts as left, with what it held, until its next message', () => {
  const { all, state } = processes(2);
  all[0].update(note(true, true));
  state.loses = () => true;
  vi.advanceTimersByTime(10_000);
  expect([all[1].isWanted(NOTE), all[1].isHeld(NOTE)]).toEqual([false, false]);
  state.loses = () => false;
  vi.advanceTimersByTime(3_000);
  expect(all[1].isHeld(NOTE)).toBe(true);
});

test('of two processes that hold a topic exactly one yields it', () => {
  const { all } = processes(2);
  for (const peer of all) peer.update(note(true, true));
  expect(all.filter((peer) => peer.isTaken(NOTE))).toHaveLength(1);
});

test('the streams of a caller are counted once all other processes have replied', async () => {
  const { all } = processes(3);
  // No time passes.
  expect(await all[0].listeners('ann')).toBe(2 + 3);
});

test('a process that does not reply in time is not counted', async () => {
  const { all, state } = processes(3);
  state.loses = (text) => text.includes('"streams":3');
  const counted = all[0].listeners('ann');
  await vi.advanceTimersByTimeAsync(500);
  expect(await counted).toBe(2);
});

test('a process that has just begun also counts those that it does not know yet', async () => {
  const texts: string[] = [];
  const peer = new PeerInterests(async (text) => void texts.push(text), IGNORING);
  peer.join();
  const counted = peer.listeners('ann');
  await vi.advanceTimersByTimeAsync(400);
  const { question } = JSON.parse(texts.at(-1) ?? '');
  for (const [from, streams] of [
    ['p2', 2],
    ['p3', -1],
    ['p4', '4'],
  ])
    peer.receive(JSON.stringify({ from, question, streams }));
  await vi.advanceTimersByTimeAsync(100);
  expect(await counted).toBe(2);
});

test('a process that receives no signals refuses to count', async () => {
  const counted = new PeerInterests(async () => {}, IGNORING).listeners('ann');
  const refused = expect(counted).rejects.toMatchObject({ code: 'bus-unavailable' });
  await vi.advanceTimersByTimeAsync(500);
  await refused;
});

test('what is not a message is ignored', () => {
  const { all } = processes(2);
  for (const text of [
    '',
    'null',
    '[]',
    '{"from":1}',
    '{"from":"x","changes":[null]}',
    '{"from":"x","released":[1]}',
  ])
    all[0].receive(text);
  expect(all[0].isWanted(NOTE)).toBe(false);
});

test('signals are written as in the corpus', async () => {
  vi.spyOn(crypto, 'randomUUID')
    .mockReturnValueOnce('p1' as Id)
    .mockReturnValueOnce('q1' as Id);
  const texts: string[] = [];
  const send = async (text: string) => void texts.push(text);
  const peer = new PeerInterests(send, { ...IGNORING, streamsOf: () => 2 });
  peer.join();
  peer.update(note(true, false));
  peer.update(note(true, true));
  peer.receive('{"from":"p2","ask":"p1"}');
  vi.advanceTimersByTime(2_000);
  peer.receive('{"from":"p2","number":0,"changes":[],"isFirst":true}');
  const counted = peer.listeners('ann');
  await vi.advanceTimersByTimeAsync(0);
  peer.receive('{"from":"p2","question":"q1","streams":1}');
  expect(await counted).toBe(1);
  peer.receive('{"from":"p2","question":"q2","principal":"bob"}');
  peer.update(note(false, true));
  peer.update(note(false, false));
  await peer.leave([NOTE]);
  expect(texts).toEqual(signals.map(({ text }) => text));
});

test('signals of the corpus are read', () => {
  const { all } = processes(1);
  for (const { held, name, text, wanted } of signals) {
    all[0].receive(text);
    expect(all[0].isWanted(NOTE), name).toBe(wanted.length > 0);
    expect(all[0].isHeld(NOTE), name).toBe(held.length > 0);
  }
});
