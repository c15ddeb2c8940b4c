import type { setAlarm } from '../../../dist/cloudflare/object/alarm.js';

/** The storage of an object, as far as its alarm is concerned. */
export type AlarmStorage = Parameters<typeof setAlarm>[0] & { at: number | null };

/** Returns a storage whose alarm is set to `at`, in milliseconds since 1970; null: not at all. */
export function alarmStorage(given: { at: number | null }): AlarmStorage {
  const storage = {
    ...given,
    getAlarm: async () => storage.at,
    setAlarm: async (at: number) => {
      storage.at = at;
    },
    deleteAlarm: async () => {
      storage.at = null;
    },
    sync: async () => {},
    // Tables without rows.
    sql: { exec: () => ({ toArray: () => [] }) },
  };
  return storage as unknown as AlarmStorage;
}
