import type { Run } from '../harness/outcome.ts';
import type { Machine } from '../harness/record/machine.ts';
import { type CountedEvents, EVENT_ISOLATES, type EventSizes } from './events.ts';
import { awakeMs, billOf, EXAMPLE, gigabyteSeconds, type Month, monthOfEvents } from './month.ts';
import { COUNTS, cells, millions, price, table } from './table.ts';

/** The counts of the experiments with MCP Events. */
export interface EventResults {
  run: Run;
  machine: Machine;
  sizes: EventSizes;
  counted: CountedEvents;
}

/** The generated part of docs/cost.md about MCP Events. */
export function eventsDocumentOf({ counted, machine, run, sizes }: EventResults): string {
  const { versions } = machine;
  const names = namesOf(sizes);
  const rows = KINDS.map((kind) => [names[kind], ...cells(counted[kind])]);
  return [
    `Counted at commit ${run.commit} on ${machine.date.slice(0, 10)}, ` +
      `workerd ${versions['workerd']}, load before ${run.load}:`,
    `${sizes.events} events of each kind, one after another. Each number is for one event:`,
    '',
    ...table(['who receives it', ...COUNTS.slice(2)], rows),
    '',
    'A month with as many events as the example above has changes:',
    '',
    ...table(
      MONTH,
      KINDS.map((kind) => monthRow(names[kind], counted, kind)),
    ),
    '',
  ].join('\n');
}

function namesOf({ streams, webhooks }: EventSizes): Record<Kind, string> {
  return {
    alone: 'no stream and no webhook',
    streams: `${streams} streams in ${EVENT_ISOLATES} isolates`,
    webhooks: `${webhooks} webhooks of one caller`,
  };
}

function monthRow(name: string, counted: CountedEvents, kind: Kind): string[] {
  // The streams and their openings are those of the example above.
  const month: Month = { ...EXAMPLE, streams: 0 };
  const counts = monthOfEvents(counted[kind], month);
  const { alarms, calls, messages, rowsWritten, upgrades } = counts;
  const bill = billOf(counts, month);
  const amounts = [upgrades + calls + alarms, messages, rowsWritten].map(millions);
  const duration = Math.round(gigabyteSeconds(awakeMs(counts))).toLocaleString('en');
  const prices = [bill.requests, bill.duration, bill.rows, bill.together].map(price);
  return [name, ...amounts, duration, ...prices];
}

type Kind = keyof CountedEvents;

const KINDS: Kind[] = ['alone', 'streams', 'webhooks'];
const MONTH = [
  'who receives them',
  'requests',
  'messages',
  'rows written',
  'GB-s',
  'requests',
  'duration',
  'rows',
  'together',
];
