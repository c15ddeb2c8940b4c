import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface Options {
  size: 'full' | 'quick';
  /** Experiments by name, or by a promise they are evidence for; all of them without it. */
  only: string[] | undefined;
  /** Leaves out what the results hold of this very commit: goes on where a run was ended. */
  rest: boolean;
  /** The folder for what is written, relative to the project. */
  out: string;
  /** An earlier results.json to compare ours with. */
  against: string | undefined;
  /** Writes RESULTS.md and the plots anew, and measures nothing. */
  isReportOnly: boolean;
}

/**
 * What is measured at full size replaces the same experiments where results are committed; the
 * others stay.
 */
export function argumentsOf(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      rest: { type: 'boolean', default: false },
      out: { type: 'string' },
      against: { type: 'string' },
      report: { type: 'boolean', default: false },
    },
  });
  return {
    size: values.quick ? 'quick' : 'full',
    only: values.only?.split(','),
    rest: values.rest,
    out: values.out ?? (values.quick ? '.build/bench' : 'bench'),
    against: values.against,
    isReportOnly: values.report,
  };
}
