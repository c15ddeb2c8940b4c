import { table } from './table.ts';

/** Requests of the gateway to the function for a stream that opens; an open stream makes none. */
export const REQUESTS_A_LISTEN = 2;

/** What clients cost that listen to a function around the clock: the example of docs/cost.md. */
const CLIENTS = 100;
const HOURS = 730;
const DAYS = 30;
/** Seconds that the function takes for a request of the gateway: an assumption. */
const CHECK_SECONDS = 0.1;
/**
 * Prices in dollars, after what is included, in November 2026:
 * https://aws.amazon.com/lambda/pricing/ (us-east-1, x86).
 */
const LAMBDA = { gigabytes: 0.5, gigabyteSecond: 0.0000166667 };
/** As above: https://vercel.com/docs/functions/usage-and-pricing (iad1). */
const VERCEL = {
  gigabytes: 2,
  gigabyteHour: 0.0106,
  millionInvocations: 0.6,
  listenSeconds: 300,
};
/** As above: https://cloud.google.com/run/pricing (regions of tier 1, billed by request). */
const CLOUD_RUN = {
  gibibytes: 0.5,
  vcpuSecond: 0.000024,
  gibibyteSecond: 0.0000025,
  /** Requests that an instance serves at a time, by default. */
  concurrency: 80,
};

/** The tables of docs/cost.md: functions that hold the streams, and functions behind a gateway. */
export function serverlessTables(): { held: string; behind: string } {
  return {
    held: tableOf('before', BEFORE.map(cells)),
    behind: tableOf('after', [...AFTER.map(cells), ...OF_CLOUDFLARE]),
  };
}

/** What holding the streams costs in a month, in dollars: the least, and the most. */
export function heldRange(): [least: number, most: number] {
  const bills = BEFORE.filter(({ isPart }) => !isPart).map(({ factors }) => productOf(factors));
  return [Math.min(...bills), Math.max(...bills)];
}

/** The most that the requests of the gateway cost in a month, in dollars. */
export function mostAfter(): number {
  return Math.max(...AFTER.map(({ factors }) => productOf(factors)));
}

function tableOf(when: string, rows: string[][]): string {
  return `\n${table([when, 'formula', 'a month'], rows).join('\n')}\n\n`;
}

/** A line of a table: its formula is a product. */
interface Line {
  what: string;
  factors: Factor[];
  /** Whether it comes on top of another line. */
  isPart?: boolean;
}

type Factor = [value: number, text: string];

function cells({ factors, what }: Line): string[] {
  return [what, formulaOf(factors), amountOf(productOf(factors))];
}

function formulaOf(factors: Factor[]): string {
  return factors
    .map(([, text]) => text)
    .join(' × ')
    .replaceAll('× ÷', '÷');
}

function productOf(factors: Factor[]): number {
  return factors.reduce((product, [value]) => product * value, 1);
}

function count(value: number, unit = ''): Factor {
  return [value, `${value.toLocaleString('en')}${unit && ` ${unit}`}`];
}

function dividedBy(value: number): Factor {
  return [1 / value, `÷ ${value.toLocaleString('en')}`];
}

function dollars(value: number): Factor {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 10 };
  return [value, `$${value.toLocaleString('en', digits)}`];
}

/** An amount of money, in hundredths of a cent if it is only some cents. */
function amountOf(value: number): string {
  const decimals = value < 0.1 ? 4 : 2;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return `$${value.toLocaleString('en', digits)}`;
}

const ALL_MONTH = [count(HOURS, 'h'), count(3_600, 's')];
const OF_LAMBDA = [count(LAMBDA.gigabytes, 'GB'), dollars(LAMBDA.gigabyteSecond)];
const OF_VERCEL = [count(VERCEL.gigabytes, 'GB'), count(HOURS, 'h'), dollars(VERCEL.gigabyteHour)];
const OF_MEMORY = [count(CLOUD_RUN.gibibytes, 'GiB'), dollars(CLOUD_RUN.gibibyteSecond)];
const OF_CLOUD_RUN: Factor = [
  CLOUD_RUN.vcpuSecond + productOf(OF_MEMORY),
  `(${formulaOf([dollars(CLOUD_RUN.vcpuSecond)])} + ${formulaOf(OF_MEMORY)})`,
];
const INSTANCES = Math.ceil(CLIENTS / CLOUD_RUN.concurrency);
const BEFORE: Line[] = [
  {
    what: 'Lambda with a streaming function URL, 512 MB',
    factors: [count(CLIENTS), ...ALL_MONTH, ...OF_LAMBDA],
  },
  { what: 'Vercel, one instance of 2 GB that all share', factors: OF_VERCEL },
  { what: 'Vercel, an instance for each listen', factors: [count(CLIENTS), ...OF_VERCEL] },
  {
    what: `Vercel, its invocations, one each ${VERCEL.listenSeconds} s`,
    factors: [
      ...[count(CLIENTS), count(HOURS, 'h'), count(3_600 / VERCEL.listenSeconds)],
      ...[dollars(VERCEL.millionInvocations), dividedBy(1_000_000)],
    ],
    isPart: true,
  },
  {
    what: `Cloud Run, ${INSTANCES} instances of 1 vCPU and 512 MiB`,
    factors: [count(INSTANCES), ...ALL_MONTH, OF_CLOUD_RUN],
  },
];
const CHECKS = [
  ...[count(CLIENTS), count(DAYS), count(REQUESTS_A_LISTEN)],
  count(CHECK_SECONDS, 's'),
];
const AFTER: Line[] = [
  {
    what: 'Lambda: the requests for each stream that opens, here once a day, of 100 ms each',
    factors: [...CHECKS, ...OF_LAMBDA],
  },
  {
    what: 'Vercel: the same, the memory of an instance of 2 GB',
    factors: [
      ...[...CHECKS, dividedBy(3_600), count(VERCEL.gigabytes, 'GB')],
      dollars(VERCEL.gigabyteHour),
    ],
  },
  { what: 'Cloud Run: the same, an instance as above', factors: [...CHECKS, OF_CLOUD_RUN] },
];
const OF_CLOUDFLARE = [
  [
    'Cloudflare: streams, changes and the bus',
    'less than [10,000 clients](#an-example) cost',
    '$0.00',
  ],
  [
    'Cloudflare: what else passes through the gateway',
    '$0.30 a million requests, after 10 million',
    '',
  ],
];
