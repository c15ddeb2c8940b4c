import { beforeAll, expect, test } from 'vitest';
import { type CountedEvents, EventExample } from '../../../bench/cost/events.ts';

const SIZES = { events: 2, streams: 8, webhooks: 3 };
let counted: CountedEvents;

beforeAll(async () => {
  counted = await EventExample.run(SIZES);
}, 60_000);

test('an event is one request, and three rows: its cue, its payload, and its name', () => {
  const { alone } = counted;
  expect(alone).toMatchObject({ calls: 1, rowsWritten: 3, alarms: 0, messages: 0, upgrades: 0 });
});

test('each isolate with streams of an event reads it once, however many streams it has', () => {
  const { streams } = counted;
  expect(streams).toMatchObject({ calls: 1 + 4, rowsWritten: 3, alarms: 0, messages: 0 });
});

test('an object that delivers an event to webhooks is called once, and reads it once', () => {
  const { webhooks } = counted;
  expect(webhooks.calls).toBe(3);
  expect(webhooks.rowsWritten).toBeLessThanOrEqual(12);
  expect(webhooks.messages).toBe(0);
});
