import { describe, expect, test, vi } from 'vitest';
import {
  EventStream,
  elapse,
  listing,
  occurrence,
  page,
  result,
  Script,
  settled,
  useVirtualTime,
  watching,
} from './scripted.ts';

useVirtualTime();

describe('a poll', () => {
  test('passes on its events, and asks again at its cursor when the server says', async () => {
    const script = new Script(listing('poll'), page('c0'), page('c2', ['evt_1', 'evt_2']));
    const { errors, handled, watch } = watching(script);
    await settled();
    expect([watch.mode, watch.state]).toEqual(['poll', 'live']);
    await elapse(4_999);
    expect(script.methods).toEqual(['events/list', 'events/poll']);
    await elapse(2);
    expect(handled).toEqual(['evt_1', 'evt_2']);
    await elapse(5_001);
    const cursors = script.sent.slice(1).map(({ params }) => params['cursor']);
    expect(cursors).toEqual([null, 'c0', 'c2']);
    expect(errors).toEqual([]);
  });

  test('asks again at once where there is more', async () => {
    const hasMore = true;
    const script = new Script(
      page('c1', ['evt_1'], { hasMore }),
      page('c2', [], { hasMore }),
      page('c3', ['evt_2']),
    );
    const { handled } = watching(script, { mode: 'poll' });
    await settled();
    expect([script.sent.length, handled]).toEqual([3, ['evt_1', 'evt_2']]);
  });

  test('never asks more than once a second where the cursor stands still', async () => {
    const members = { hasMore: true, nextPollMs: 0 };
    const script = new Script(page('c1'), page('c1', [], members), page('c1', [], members));
    watching(script, { mode: 'poll' });
    await elapse(5_001);
    expect(script.sent).toHaveLength(2);
    await elapse(998);
    expect(script.sent).toHaveLength(2);
    await elapse(3);
    expect(script.sent).toHaveLength(3);
  });

  test('never asks more than once a second where a page has no cursor', async () => {
    const members = { hasMore: true, nextPollMs: 0 };
    const script = new Script(page('c1'), page(null, [], members), page(null, [], members));
    watching(script, { mode: 'poll' });
    await elapse(5_001);
    expect(script.sent).toHaveLength(2);
    await elapse(998);
    expect(script.sent).toHaveLength(2);
  });

  test.each([
    [0, 1_000],
    [-5, 1_000],
    [1_500, 1_500],
    [undefined, 30_000],
    ['soon', 30_000],
    [1e12, 3_600_000],
  ])('with nextPollMs %s is repeated after %i ms', async (nextPollMs, wait) => {
    const script = new Script(page('c0', [], { nextPollMs }));
    watching(script, { mode: 'poll' });
    await elapse(wait - 1);
    expect(script.sent).toHaveLength(1);
    await elapse(3);
    expect(script.sent).toHaveLength(2);
  });
});

describe('the response to a poll', () => {
  test('is a gap before the events that follow it where it is truncated', async () => {
    const script = new Script(page('c9', ['evt_9'], { truncated: true }));
    const { handled } = watching(script, { mode: 'poll' });
    await settled();
    expect(handled).toEqual([{ cursor: 'c9' }, 'evt_9']);
  });

  test('has its cursor saved once every event was handled', async () => {
    const saved: string[] = [];
    const cursor = { load: async () => 'c5', save: (text: string) => void saved.push(text) };
    const onEvent = vi.fn();
    onEvent.mockResolvedValueOnce(undefined).mockRejectedValueOnce(new Error('no'));
    const script = new Script(page('c7', ['evt_6', 'evt_7']), page('c7'));
    watching(script, { mode: 'poll', cursor, onEvent });
    await settled();
    expect(saved).toEqual([]);
    await elapse(501);
    await elapse(5_001);
    expect(saved).toEqual(['c7']);
    expect(onEvent.mock.calls.map(([{ eventId }]) => eventId)).toEqual(['evt_6', 'evt_7', 'evt_7']);
    expect(script.sent.map(({ params }) => params['cursor'])).toEqual(['c5', 'c7']);
  });

  test('may come in an event stream', async () => {
    const stream = new EventStream();
    const script = new Script(stream.respond);
    const { handled } = watching(script, { mode: 'poll' });
    await settled();
    stream.write({ jsonrpc: '2.0', method: 'notifications/progress', params: {} });
    stream.write({
      ...{ jsonrpc: '2.0', id: script.sent[0]?.message.id },
      result: { events: [occurrence('evt_1')], cursor: 'c1' },
    });
    await settled();
    expect(handled).toEqual(['evt_1']);
    expect(stream.isLeft).toBe(true);
  });

  test.each([
    ['no list of events', { events: {}, cursor: 'c' }],
    ['a cursor that is no text', { events: [], cursor: 7 }],
  ])('with %s is an error, and the poll is repeated', async (_, members) => {
    const script = new Script(result(members), page('c0'));
    const { codes, watch } = watching(script, { mode: 'poll' });
    await settled();
    expect(codes()).toEqual(['invalid-response']);
    await elapse(502);
    expect(watch.state).toBe('live');
  });
});
