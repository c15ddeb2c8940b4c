import type { Metric } from '../harness/experiment.ts';
import { figure } from '../harness/number.ts';
import {
  axisValues,
  type Outcome,
  pointOf,
  quoted,
  type Run,
  ratioAt,
  type Standing,
} from '../harness/outcome.ts';
import type { ConditionVerdict, Verdict } from '../harness/promises/verdicts.ts';
import { failures, gaps } from '../harness/record/flaws.ts';
import { MAX_LOAD } from '../harness/record/idle.ts';
import type { Machine } from '../harness/record/machine.ts';
import type { Results } from '../harness/record/results.ts';
import { exponent } from '../harness/statistics.ts';
import { plotsOf } from './plots.ts';

/** Returns the text of RESULTS.md. */
export function documentOf({ verdicts, size, machine, unmeasured, experiments }: Results): string {
  const note =
    size === 'quick' ? '\n**Quick sizes: these figures only show that everything runs.**\n' : '';
  return [
    `# Results\n\n${wrapped(INTRODUCTION)}\n${note}`,
    `${machineOf(machine)}\n`,
    ...incompleteness([...gaps(experiments, unmeasured), ...failures(experiments)]),
    `## Promises\n\n${promiseRows(verdicts)}\n`,
    ...experiments.map(sectionOf),
  ].join('\n');
}

function machineOf({
  date,
  cpu,
  cores,
  memoryGb,
  kernel,
  node,
  versions,
  fsyncMs,
}: Machine): string {
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return wrapped(
    [
      `${date.slice(0, 10)}, ${cpu}, ${cores} cores, ${memoryGb} GB, Linux ${kernel},`,
      `Node ${node}, ${others.join(', ')}.`,
      `A small write is on the disk after ${figure(fsyncMs)} ms.`,
    ].join(' '),
  );
}

function incompleteness(reasons: string[]): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.map((reason) => wrapped(`- ${reason}`, '  '));
  return [`## Incomplete\n\n${INCOMPLETE}\n`, ...rows, ''];
}

function promiseRows(verdicts: Record<string, Verdict>): string {
  const rows = Object.entries(verdicts).flatMap(([id, { conditions }]) =>
    conditions.map((condition, place) => promiseRow(place === 0 ? id : '', condition)),
  );
  return markdown(['', 'promise', 'goal', 'median', 'min', 'max', ''], rows);
}

function promiseRow(
  id: string,
  { what, bound, goal, unit, value, min, max, holds }: ConditionVerdict,
): string[] {
  const figures = [value, min, max].map((number) => (number === null ? '-' : figure(number)));
  if (goal === null) return [id, what, `no goal (${unit})`, ...figures, ''];
  return [id, what, `${bound} ${figure(goal)} ${unit}`, ...figures, holds ? 'holds' : '**missed**'];
}

function sectionOf(outcome: Outcome): string {
  const { name, title, proves, contenders, run } = outcome;
  const evidence = proves.length > 0 ? ` (${proves.join(', ')})` : '';
  const plots = plotsOf(outcome).map(({ file }) => `![${name}](plots/${file})`);
  return [
    `## ${name}${evidence}\n\n${wrapped(`${title[0]?.toUpperCase()}${title.slice(1)}.`)}\n`,
    ...contenders.map((standing) =>
      wrapped(`- ${standing.name}: ${standing.includes}.${failureOf(standing)}`, '  '),
    ),
    ...(run === undefined ? [] : [`\n${wrapped(runOf(run))}`]),
    `\n${figures(outcome)}`,
    ...plots.map((plot) => `${plot}\n`),
  ].join('\n');
}

function runOf({ at, commit, command, load, waited }: Run): string {
  const time = `${at.slice(0, 16).replace('T', ' ')} UTC`;
  const before = `load before ${figure(load)}${load > MAX_LOAD ? ' (beside other work)' : ''}`;
  const wait = waited === undefined ? '' : `, after waiting ${figure(waited)} s for a lower one`;
  return `${time}, commit ${commit}, \`${command}\`, ${before}${wait}.`;
}

function failureOf({ failed }: Standing): string {
  return failed === undefined ? '' : ` Not measured to the end: ${failed}.`;
}

function figures(outcome: Outcome): string {
  return outcome.metrics
    .map((metric) =>
      outcome.axis === undefined
        ? comparison(outcome, metric)
        : curve(outcome, metric, outcome.axis),
    )
    .join('\n');
}

function comparison(outcome: Outcome, metric: Metric): string {
  const [ours] = outcome.contenders;
  const rows = outcome.contenders.flatMap(({ name }) => {
    const point = pointOf(outcome, name, 0);
    if (point === undefined) return [];
    const { median, min, max } = quoted(point, metric);
    const ratio =
      name === ours?.name ? undefined : ratioAt(outcome, metric, 0, [ours?.name ?? '', name]);
    return [
      [
        name,
        figure(median),
        figure(min),
        figure(max),
        // A ratio to 0, such as of memory that only one contender uses, says nothing.
        Number.isFinite(ratio?.median) ? `${figure(ratio?.median ?? 0)}x` : '',
      ],
    ];
  });
  return markdown(
    [`${metric.title}, ${metric.unit}`, 'median', 'min', 'max', 'ours to theirs'],
    rows,
  );
}

/** A table of medians with minimum and maximum along the axis, and the exponent of each row. */
function curve(outcome: Outcome, metric: Metric, axis: string): string {
  const xs = axisValues(outcome);
  const rows = outcome.contenders.map(({ name }) => {
    const points = xs.map((x) => pointOf(outcome, name, x));
    const cells = points.map((point) =>
      point === undefined ? '-' : cellOf(quoted(point, metric)),
    );
    const measured = points.flatMap((point) =>
      point === undefined ? [] : [{ x: point.x, y: quoted(point, metric).median }],
    );
    const power = exponent(measured);
    return [name, ...cells, power === undefined ? '-' : power.toFixed(2)];
  });
  return markdown(
    [`${metric.title}, ${metric.unit}`, ...xs.map((x) => `${figure(x)} ${axis}`), 'exponent'],
    rows,
  );
}

function cellOf({ median, min, max }: { median: number; min: number; max: number }): string {
  return `${figure(median)} (${figure(min)} - ${figure(max)})`;
}

function markdown(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  return `${lines.join('\n')}\n`;
}

/** Breaks a paragraph into lines of at most 120 columns, each but the first after an indent. */
function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(word);
    else if (line.length + 1 + word.length <= 120) lines.splice(-1, 1, `${line} ${word}`);
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

const INTRODUCTION = [
  '`npm run bench` writes this page from `results.json`, which has all rounds.',
  'All contenders of an experiment run at the same time on one machine, with interleaved rounds.',
  'Before each experiment, the command waits until the load is at most 0.5,',
  'for ten minutes at most.',
  'Figures are medians, with minimum and maximum. Ratios are taken round by round, ours to theirs.',
  'An exponent of 0 says that a figure does not grow along the axis,',
  '1 that it grows in proportion. Each experiment names its time and its commit.',
  'Later commits may have changed the figures,',
  'and figures of different commits are not comparable.',
  'The machine is that of the latest run.',
  '[README.md](README.md) describes the measurements.',
].join(' ');
const INCOMPLETE = 'These results are not those of one whole run on an idle machine:';
