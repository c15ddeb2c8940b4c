import type { Outcome } from '../outcome.ts';
import { MAX_LOAD } from './idle.ts';

/** The contenders of these experiments that were not measured to the end, with the reasons. */
export function failures(outcomes: Outcome[]): string[] {
  return outcomes.flatMap(({ name, contenders }) =>
    contenders.flatMap((contender) =>
      contender.failed === undefined ? [] : [`${name}: ${contender.name}: ${contender.failed}`],
    ),
  );
}

/** Why these results are not those of one whole run on an idle machine; empty if they are. */
export function gaps(outcomes: Outcome[], unmeasured: string[]): string[] {
  const byCommit = Map.groupBy(outcomes, ({ run }) => run?.commit ?? 'unknown');
  const commits = [...byCommit].map(([commit, all]) => `${commit} (${all.length})`);
  const changed = [...byCommit.keys()].filter((commit) => commit.endsWith('+'));
  const beside = outcomes.filter(({ run }) => run !== undefined && run.load > MAX_LOAD);
  return [
    unmeasured.length === 0 ? [] : [`not measured: ${unmeasured.join(', ')}`],
    commits.length < 2 ? [] : [`experiments of several commits: ${commits.join(', ')}`],
    changed.length === 0 ? [] : [`measured files differ from the commit: ${changed.join(', ')}`],
    beside.length === 0 ? [] : [`measured beside other work: ${namesOf(beside)}`],
  ].flat();
}

function namesOf(outcomes: Outcome[]): string {
  return outcomes.map(({ name }) => name).join(', ');
}
