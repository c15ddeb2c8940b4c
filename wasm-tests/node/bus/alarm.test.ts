import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AlarmScheduler, setAlarm } from '../../../dist/cloudflare/object/alarm.js';
import { alarmStorage } from './alarm-storage.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
});

afterEach(() => {
  vi.useRealTimers();
});

const NOW = 1_800_000_000_000;

test('an earlier alarm stays set', async () => {
  const storage = alarmStorage({ at: NOW + 1_000 });
  const scheduler = new AlarmScheduler(storage);
  await scheduler.wakeBy(NOW + 5_000);
  scheduler.wakeWithWrite(NOW + 5_000);
  expect(storage.at).toBe(NOW + 1_000);
  await scheduler.wakeBy(NOW + 500);
  expect(storage.at).toBe(NOW + 500);
});

test('an alarm that has just become due stays set', async () => {
  const storage = alarmStorage({ at: NOW - 1_000 });
  await new AlarmScheduler(storage).wakeBy(NOW + 5_000);
  expect(storage.at).toBe(NOW - 1_000);
});

test.each([
  ['wakeBy', 'wakeBy'],
  ['wakeWithWrite', 'wakeWithWrite'],
] as const)('an alarm that is overdue is set again by %s', async (_, method) => {
  const storage = alarmStorage({ at: null });
  const scheduler = new AlarmScheduler(storage);
  await scheduler.wakeBy(NOW + 1_000);
  vi.setSystemTime(NOW + 60_000);
  await scheduler[method](NOW + 61_000);
  expect(storage.at).toBe(NOW + 61_000);
});

test('a stored alarm that is overdue is set again', async () => {
  const storage = alarmStorage({ at: NOW - 86_400_000 });
  await new AlarmScheduler(storage).wakeBy(NOW + 5_000);
  expect(storage.at).toBe(NOW + 5_000);
});

test('an alarm is set in the future', async () => {
  const storage = alarmStorage({ at: null });
  for (const at of [NOW - 5_000, NOW]) {
    await setAlarm(storage, at);
    expect(storage.at).toBe(NOW + 1);
  }
  await new AlarmScheduler(storage).wakeBy(NOW - 5_000);
  expect(storage.at).toBe(NOW + 1);
});
