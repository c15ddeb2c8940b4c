import type { Contender, Entrant, Experiment, Sample } from './experiment.ts';
import type { Outcome, Point, Standing } from './outcome.ts';
import type { Progress } from './terminal/progress.ts';

/** Runs one experiment. An entrant that fails drops out; the others continue. */
export async function compare(experiment: Experiment, progress: Progress): Promise<Outcome> {
  const { name, title, proves, axis, metrics, entrants } = experiment;
  const standings = entrants.map(
    (entrant): Standing => ({ name: entrant.name, includes: entrant.includes, points: [] }),
  );
  const outcome: Outcome = {
    ...{ name, title, proves, ...(axis ? { axis: axis.label } : {}), metrics },
    contenders: standings,
  };
  progress.begins(outcome);
  for (const x of axis?.values ?? [0]) {
    await compareAt(x, experiment, standings, (round, rounds) =>
      progress.round(outcome, { x, round, rounds }),
    );
    progress.compared(outcome, x);
  }
  return outcome;
}

async function compareAt(
  x: number,
  { entrants, warmUps, rounds }: Experiment,
  standings: Standing[],
  report: (round: number, rounds: number) => void,
): Promise<void> {
  const lanes = entrants.map(
    (entrant, place) => new Lane(entrant, standings[place] as Standing, x),
  );
  try {
    // One after another: the start of one entrant must not disturb the others.
    for (const lane of lanes) await lane.enter();
    for (let round = 1 - warmUps; round <= rounds; round += 1) {
      for (const lane of rotated(lanes, round)) await lane.round(round > 0);
      report(round, rounds);
    }
  } finally {
    for (const lane of lanes) await lane.leave();
  }
}

/** Rotates the entrants by one each round, so that each of them is first in turn. */
function rotated<T>(all: T[], round: number): T[] {
  const first = (((round - 1) % all.length) + all.length) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/** One entrant at one value of the axis. */
class Lane {
  readonly #entrant: Entrant;
  readonly #standing: Standing;
  readonly #point: Point;
  #contender: Contender | undefined;

  constructor(entrant: Entrant, standing: Standing, x: number) {
    this.#entrant = entrant;
    this.#standing = standing;
    this.#point = { x, rounds: [] };
  }

  async enter(): Promise<void> {
    if (this.#standing.failed !== undefined) return;
    this.#standing.points.push(this.#point);
    await this.#attempt(async () => {
      this.#contender = await this.#entrant.enter(this.#point.x);
    });
  }

  async round(isCounted: boolean): Promise<void> {
    const contender = this.#contender;
    if (contender === undefined || this.#standing.failed !== undefined) return;
    const sample = await this.#attempt(() => contender.round());
    if (isCounted && sample !== undefined) this.#point.rounds.push(rounded(sample));
  }

  async leave(): Promise<void> {
    await this.#attempt(async () => this.#contender?.leave());
  }

  /** Runs a step of the entrant; a step that throws takes the entrant out of the experiment. */
  async #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#standing.failed ??= (error as Error).message;
      return undefined;
    }
  }
}

function rounded(sample: Sample): Sample {
  return Object.fromEntries(
    Object.entries(sample).map(([id, value]) => [id, Number(value.toPrecision(6))]),
  );
}
