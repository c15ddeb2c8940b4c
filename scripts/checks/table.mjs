import { treeObstacles } from './record/tree.mjs';

/**
 * @typedef {{ median: number, p99: number, max: number }} Spread
 *
 * @typedef {object} ScenarioResult
 * @property {string} name
 * @property {string} promise
 * @property {string} sockets
 * @property {number} requested
 * @property {number} streams
 * @property {number} open
 * @property {number} ended
 * @property {Record<string, number>} refusals
 * @property {number} passed
 * @property {number} taken
 * @property {number} refused
 * @property {number} missing
 * @property {number} early
 * @property {number} foreign
 * @property {number} inversions
 * @property {Spread} [heal]
 * @property {Spread} [calm]
 * @property {Spread} [healed]
 * @property {number} machineMs
 * @property {{ median: number, p99: number }} [bound]
 * @property {boolean} [hibernates]
 * @property {Record<string, number>} left
 * @property {string[]} reasons
 * @property {string} [note]
 * @property {string[]} violations
 *
 * @typedef {object} WebhookResult
 * @property {number} events how many the endpoint received of those that were published: all
 * @property {number} resets how often the object that delivers was reset
 * @property {number} busResets
 * @property {number} kills
 *
 * @typedef {object} FaultRun
 * @property {string[]} scenarios the names of all scenarios of the run
 * @property {ScenarioResult[]} results those of the scenarios that ran to their end
 * @property {WebhookResult | undefined} webhooks undefined if that test did not pass
 */

/**
 * Maximum milliseconds that a cue takes before the fault and after healing, at the 99th percentile,
 * for times to be published. Beside other lanes a bound includes no more of the time before.
 */
export const MAX_CALM_MS = 1_000;
/**
 * Maximum milliseconds that a process waited for a processor, for times to be published. Beside
 * other lanes the bounds of a scenario include no more of it.
 */
export const MAX_WAIT_MS = 2_000;

/**
 * Returns why the results of this run must not be written; empty if they may.
 * @param {FaultRun} run
 * @param {import('./record/tree.mjs').Tree} before
 * @param {import('./record/tree.mjs').Tree} after
 * @returns {string[]}
 */
export function obstacles({ results, scenarios, webhooks }, before, after) {
  const absent = scenarios.filter((scenario) => results.every(({ name }) => name !== scenario));
  const loaded = results.filter(
    ({ calm, healed, machineMs }) =>
      Math.max(calm?.p99 ?? 0, healed?.p99 ?? 0) > MAX_CALM_MS || machineMs > MAX_WAIT_MS,
  );
  const names = loaded.map(({ name }) => name).join(', ');
  return [
    treeObstacles(before, after),
    results.length === 0 ? ['no scenario has a result'] : [],
    absent.length === 0 ? [] : [`scenarios without a result: ${absent.join(', ')}`],
    webhooks === undefined ? ['the events of webhooks have no result'] : [],
    loaded.length === 0 ? [] : [`the machine was too busy for times to be published: ${names}`],
  ].flat();
}

/**
 * Returns the rows of a full run, in Markdown.
 * @param {ScenarioResult[]} results
 */
export function faultTable(results) {
  const rule = `|${HEAD.map(() => '---').join('|')}|`;
  return [
    `| ${HEAD.join(' | ')} |`,
    rule,
    ...results.map((result) => `| ${cells(result).join(' | ')} |`),
  ].join('\n');
}

/**
 * Returns the result of the events of webhooks in words.
 * @param {WebhookResult} result
 */
export function webhookText({ busResets, events, kills, resets }) {
  return (
    `an endpoint that fails a third of its messages received all ${events} events, over ` +
    `${resets} resets of the object that delivers, ${busResets} of the bus and ${kills} SIGKILL`
  );
}

/** @param {ScenarioResult} result */
function cells(result) {
  const {
    name,
    promise,
    sockets,
    passed,
    requested,
    streams,
    ended,
    missing,
    early,
    foreign,
    inversions,
  } = result;
  const { hibernates, left, note, reasons, refusals, refused, taken, violations } = result;
  const { descriptors = 0, ...leaked } = left;
  const statuses = Object.entries(refusals).map(([status, count]) => `${count} x ${status}`);
  return [
    name,
    promise,
    sockets,
    [`${requested}, ${streams}, ${ended}`, passed > 0 ? `${passed} came and went` : [], statuses]
      .flat()
      .join('; '),
    refused > 0 ? `${taken}, ${refused} refused` : taken,
    missing,
    early + foreign + inversions,
    ...times(result),
    hibernates === undefined ? '' : hibernates ? 'yes' : 'NO',
    `${Object.values(leaked).reduce((sum, count) => sum + count, 0)}, ${descriptors} sockets`,
    [note ?? [], reasons, violations.length === 0 ? [] : `**violated: ${violations.join('; ')}**`]
      .flat()
      .join('; '),
  ];
}

/**
 * @param {ScenarioResult} result
 * @returns {string[]}
 */
function times({ bound, calm, heal, machineMs }) {
  if (heal === undefined || calm === undefined || bound === undefined) return ['', '', ''];
  return [
    [heal.median, heal.p99, heal.max].map(seconds).join(' / '),
    [bound.median, bound.p99].map(seconds).join(' / '),
    [calm.median, calm.p99, machineMs].map(seconds).join(' / '),
  ];
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1_000).toFixed(2)} s`;
}

const HEAD = [
  'fault',
  'promise',
  '`sockets`, connections',
  'streams requested, opened, ended',
  'events',
  'cues missing',
  'early, foreign, out of order',
  'back after, median / p99 / max',
  'bound, median / p99',
  'before the fault, median / p99; waited for a processor',
  'hibernates again',
  'left over',
  '',
];
