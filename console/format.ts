/** Formats a time of day, as in `09:05:03.042`. */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${parts.join(':')}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Formats a duration, as in `7 s`, `3 min 20 s` or `2 h 5 min`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a short duration, as in `4.2 ms`, `38 ms` or `1.2 s`. */
export function shortTime(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** Formats a whole number with separators between thousands. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** Formats a number of things, as in `1 shard` or `3 shards`; the plural of `one` ends in "s". */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`;
}
