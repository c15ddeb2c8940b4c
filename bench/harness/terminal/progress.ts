import type { Metric } from '../experiment.ts';
import { figure } from '../number.ts';
import { axisValues, type Outcome, pointOf, quoted, ratioAt, type Standing } from '../outcome.ts';

/** Prints on a terminal how far the run is and what each contender reached. */
export class Progress {
  readonly #write: (text: string) => void;
  readonly #total: number;
  readonly #now: () => number;
  readonly #started: number;
  #begun = 0;

  /** @param now - returns the time in milliseconds. */
  constructor(
    total: number,
    write: (text: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#total = total;
    this.#write = write;
    this.#now = now;
    this.#started = now();
  }

  /** Prints the heading of an experiment. */
  begins({ name, title, proves }: Outcome): void {
    this.#begun += 1;
    const evidence = proves.length > 0 ? ` [${proves.join(', ')}]` : '';
    const minutes = ((this.#now() - this.#started) / 60_000).toFixed(1);
    this.#write(`\n(${this.#begun}/${this.#total}, ${minutes} min) ${name}${evidence}: ${title}\n`);
  }

  /** Prints the last round of each contender; rounds up to 0 are warm-ups. */
  round(
    outcome: Outcome,
    { x, round, rounds }: { x: number; round: number; rounds: number },
  ): void {
    const head = outcome.axis === undefined ? '' : `${figure(x)} ${outcome.axis}, `;
    const which = round > 0 ? `round ${round}/${rounds}` : 'warming up';
    const cells = outcome.contenders.map((standing) => latest(standing, x, outcome.metrics[0]));
    this.#write(`  ${head}${which}: ${cells.join(', ')}\n`);
  }

  /** Prints the table of the comparison at one value of the axis. */
  compared(outcome: Outcome, x: number): void {
    this.#write(table(outcome, x));
  }
}

/** A table of all contenders at one value of the axis, with the ratio of ours to theirs. */
export function table(outcome: Outcome, x: number): string {
  const metrics = outcome.metrics.flatMap((metric) =>
    outcome.contenders.map((standing) => rowOf(outcome, standing, metric, x)),
  );
  const head = outcome.axis === undefined ? '' : `${figure(x)} ${outcome.axis}`;
  const columns = [head, 'median', 'min', 'max', '', 'ours/theirs', 'min', 'max'];
  return `${aligned([columns, ...metrics])}\n`;
}

/** The tables of a whole outcome. */
export function tables(outcome: Outcome): string {
  return axisValues(outcome)
    .map((x) => table(outcome, x))
    .join('');
}

function rowOf(outcome: Outcome, { name, failed }: Standing, metric: Metric, x: number): string[] {
  const point = pointOf(outcome, name, x);
  const label = outcome.metrics.length > 1 ? `${name}, ${metric.title}` : name;
  if (point === undefined) return [label, failed ?? 'not measured'];
  const { median, min, max } = quoted(point, metric);
  const ours = outcome.contenders[0]?.name ?? name;
  const ratio = name === ours ? undefined : ratioAt(outcome, metric, x, [ours, name]);
  const ratioCells =
    ratio === undefined ? [] : [`${figure(ratio.median)}x`, figure(ratio.min), figure(ratio.max)];
  return [label, figure(median), figure(min), figure(max), metric.unit, ...ratioCells];
}

function latest({ name, points, failed }: Standing, x: number, metric: Metric | undefined): string {
  if (failed !== undefined) return `${name} failed`;
  const sample = points.find((point) => point.x === x)?.rounds.at(-1);
  return sample === undefined || metric === undefined
    ? `${name} ...`
    : `${name} ${figure(sample[metric.id] ?? Number.NaN)}`;
}

/** Aligns columns: the first one to the left, the others to the right. */
export function aligned(rows: string[][]): string {
  const widths = rows
    .filter((row) => row.length > 2)
    .reduce<number[]>(
      (all, row) =>
        row.map((cell, at) => Math.max(cell.length, all[at] ?? 0)).concat(all.slice(row.length)),
      [],
    );
  return rows
    .map((row) =>
      row.map((cell, at) =>
        at === 0
          ? cell.padEnd(widths[0] ?? 0)
          : cell.padStart(row.length > 2 ? (widths[at] ?? 0) : 0),
      ),
    )
    .map((cells) => `    ${cells.join('  ').trimEnd()}`)
    .join('\n');
}
