import type { Run } from '../harness/outcome.ts';
import type { Machine } from '../harness/record/machine.ts';
import type { EventResults } from './events-document.ts';
import { type Counted, ISOLATES, SCALE, type Sizes } from './example.ts';
import {
  aroundTheClock,
  awakeMs,
  billOf,
  EXAMPLE,
  gigabyteSeconds,
  type Month,
  monthOf,
  OTHER_WAITS_MS,
  WAIT_MS,
} from './month.ts';
import { COUNTS, cells, millions, price, table } from './table.ts';

/** The content of bench/cost/results.json. */
export interface CostResults {
  run: Run;
  machine: Machine;
  sizes: Sizes;
  counted: Counted[];
  /** The example of MCP Events. */
  events?: EventResults;
}

/** The generated part of docs/cost.md. */
export function documentOf({ counted, machine, run, sizes }: CostResults): string {
  const { versions } = machine;
  const months = counted.flatMap((each) => AGES.map((age) => monthRow(each, age)));
  return [
    `Counted at commit ${run.commit} on ${machine.date.slice(0, 10)}, ` +
      `workerd ${versions['workerd']}, load before ${run.load}:`,
    `${sizes.streams} streams in ${ISOLATES} isolates, a ${SCALE}th of the example. ` +
      `${sizes.opens} of them leave, and others replace them.`,
    `${sizes.changes} changes of each kind are published, one a second. Each number is for one:`,
    '',
    ...table(COUNTS, counted.flatMap(rowsOf)),
    '',
    `A month of the example, computed from these by \`bench/cost/month.ts\`, ` +
      `with ${WAIT_MS} ms for each wait:`,
    '',
    ...table(MONTH, months),
    '',
    'Other waits change the duration only:',
    '',
    ...table(
      ['streams', 'live for', ...OTHER_WAITS_MS.flatMap((ms) => [`GB-s at ${ms} ms`, 'together'])],
      counted.flatMap((each) => AGES.map((age) => waitsRow(each, age))),
    ),
    '',
    `For comparison, objects that cannot hibernate: ` +
      `five that hold 2,000 streams each cost ${price(aroundTheClock(5))}, and`,
    `one for each client ${price(aroundTheClock(10_000))}.`,
    '',
  ].join('\n');
}

function rowsOf({ sockets, ...stages }: Counted): string[][] {
  return STAGES.map(([stage, name]) => [NAMES[sockets], name, ...cells(stages[stage])]);
}

/** The month with each of the {@link OTHER_WAITS_MS}. */
function waitsRow(counted: Counted, [name, ageMinutes]: [string, number]): string[] {
  const month: Month = { ...EXAMPLE, ageMinutes };
  const counts = monthOf(counted, month);
  const cells = OTHER_WAITS_MS.flatMap((ms) => [
    durationOf(awakeMs(counts, ms)),
    price(billOf(counts, month, ms).together),
  ]);
  return [NAMES[counted.sockets], name, ...cells];
}

function durationOf(ms: number): string {
  return Math.round(gigabyteSeconds(ms)).toLocaleString('en');
}

function monthRow(counted: Counted, [name, ageMinutes]: [string, number]): string[] {
  const month: Month = { ...EXAMPLE, ageMinutes };
  const counts = monthOf(counted, month);
  const { alarms, calls, messages, rowsWritten, upgrades } = counts;
  const bill = billOf(counts, month);
  const amounts = [upgrades + calls + alarms, messages, rowsWritten].map(millions);
  const duration = durationOf(awakeMs(counts));
  const prices = [bill.listens, bill.requests, bill.duration, bill.rows, bill.together].map(price);
  return [NAMES[counted.sockets], name, ...amounts, duration, ...prices];
}

const MONTH = [
  'streams',
  'live for',
  'requests',
  'messages',
  'rows written',
  'GB-s',
  'listens',
  'requests',
  'duration',
  'rows',
  'together',
];
const NAMES = { auto: 'share a socket', each: 'a socket each' };
const AGES: [string, number][] = [
  ['a day', 24 * 60],
  ['15 minutes', 15],
];
const STAGES: [Exclude<keyof Counted, 'sockets'>, string][] = [
  ['open', 'a stream opens beside the earlier ones'],
  ['turnover', 'a stream leaves, and another one opens'],
  ['change', 'a resource changes that all watch'],
  ['ownChange', 'a resource changes that one stream watches'],
  ['waking', 'the same while the objects hibernate'],
];
