import type { Machine } from '../harness/machine.ts';
import type { Run } from '../harness/outcome.ts';
import type { Counts } from './counts.ts';
import { type Counted, ISOLATES, SCALE, type Sizes } from './example.ts';
import {
  aroundTheClock,
  awakeMs,
  billOf,
  EXAMPLE,
  gigabyteSeconds,
  type Month,
  monthOf,
  WAIT_MS,
} from './month.ts';

/** What bench/cost/results.json holds. */
export interface CostResults {
  run: Run;
  machine: Machine;
  sizes: Sizes;
  counted: Counted[];
}

/** The part of docs/cost.md that follows from what was counted. */
export function documentOf({ counted, machine, run, sizes }: CostResults): string {
  const { versions } = machine;
  return `Counted at commit ${run.commit} on ${machine.date.slice(0, 10)}, workerd ${versions['workerd']}: ${sizes.streams} streams of
${ISOLATES} isolates, a ${SCALE}th of the example, ${sizes.opens} of which leave and are followed by others, and ${sizes.changes} changes of each kind, one a
second. Each number is for one:

| streams | what happens | upgrades | calls | messages | alarms | rows read | rows written | runs, ms | timers, ms | waits |
|---|---|---|---|---|---|---|---|---|---|---|
${counted.flatMap(rowsOf).join('\n')}

A month of the example, computed from these by \`bench/cost/month.ts\`, with ${WAIT_MS} ms for each wait:

| streams | live for | requests | messages | rows written | GB-s | listens | requests | duration | rows | together |
|---|---|---|---|---|---|---|---|---|---|---|
${counted.flatMap((each) => AGES.map((age) => monthRow(each, age))).join('\n')}

For comparison, objects that cannot hibernate: five that hold 2,000 streams each cost ${price(aroundTheClock(5))}, one for each client ${price(aroundTheClock(10_000))}.
`;
}

/** The page with this block in place of its former one. */
export function withBlock(page: string, block: string): string {
  const [before, rest] = page.split(BEGIN);
  const [, after] = (rest ?? '').split(END);
  if (before === undefined || after === undefined)
    throw new Error('docs/cost.md has no place for what was counted');
  return `${before}${BEGIN}\n${block}${END}${after}`;
}

function rowsOf({ sockets, ...stages }: Counted): string[] {
  return STAGES.map(
    ([stage, name]) => `| ${NAMES[sockets]} | ${name} | ${cells(stages[stage]).join(' | ')} |`,
  );
}

function cells(counts: Counts): string[] {
  const { alarms, calls, messages, rowsRead, rowsWritten, runMs, timerMs, upgrades, waits } =
    counts;
  const all = [upgrades, calls, messages, alarms, rowsRead, rowsWritten, runMs, timerMs, waits];
  return all.map((count) =>
    count >= 100 ? count.toFixed(0) : String(Number(count.toPrecision(2))),
  );
}

function monthRow(counted: Counted, [name, ageMinutes]: [string, number]): string {
  const month: Month = { ...EXAMPLE, ageMinutes };
  const counts = monthOf(counted, month);
  const { alarms, calls, messages, rowsWritten, upgrades } = counts;
  const bill = billOf(counts, month);
  const amounts = [upgrades + calls + alarms, messages, rowsWritten].map(millions);
  const duration = Math.round(gigabyteSeconds(awakeMs(counts))).toLocaleString('en');
  const prices = [bill.listens, bill.requests, bill.duration, bill.rows, bill.together].map(price);
  return `| ${[NAMES[counted.sockets], name, ...amounts, duration, ...prices].join(' | ')} |`;
}

function millions(count: number): string {
  return `${(count / 1_000_000).toFixed(2)} M`;
}

function price(dollars: number): string {
  return `$${dollars.toFixed(2)}`;
}

const BEGIN = '<!-- counted -->';
const END = '<!-- /counted -->';
const NAMES = { auto: 'share a socket', each: 'a socket each' };
const AGES: [string, number][] = [
  ['a day', 24 * 60],
  ['15 minutes', 15],
];
const STAGES: [Exclude<keyof Counted, 'sockets'>, string][] = [
  ['open', 'a stream opens beside those before it'],
  ['turnover', 'a stream leaves and another one opens'],
  ['change', 'what all watch changes'],
  ['ownChange', 'what one stream watches changes'],
  ['waking', 'the same while the objects hibernate'],
];
