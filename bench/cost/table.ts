import type { Counts } from './counts.ts';

/** The lines of a table. */
export function table(head: string[], rows: string[][]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** The cells for counts, under the last columns of {@link COUNTS}. */
export function cells(counts: Counts): string[] {
  const { alarms, calls, messages, rowsRead, rowsWritten, runMs, timerMs, upgrades, waits } =
    counts;
  const all = [upgrades, calls, messages, alarms, rowsRead, rowsWritten, runMs, timerMs, waits];
  return all.map((count) =>
    count >= 100 ? count.toFixed(0) : String(Number(count.toPrecision(2))),
  );
}

/** A number in millions. */
export function millions(count: number): string {
  return `${(count / 1_000_000).toFixed(2)} M`;
}

/** An amount of money. */
export function price(dollars: number): string {
  return `$${dollars.toFixed(2)}`;
}

/** The columns of a table of counts. */
export const COUNTS = [
  'streams',
  'what happens',
  'upgrades',
  'calls',
  'messages',
  'alarms',
  'rows read',
  'rows written',
  'runs, ms',
  'timers, ms',
  'waits',
];
