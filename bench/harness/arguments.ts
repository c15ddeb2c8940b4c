import { parseArgs } from 'node:util';

/** The options of the command line. */
export interface Options {
  size: 'full' | 'quick';
  /** Names of experiments, or of promises that they prove. Default: all experiments. */
  only: string[] | undefined;
  /** Skips experiments that have results of this commit: continues an interrupted run. */
  rest: boolean;
  /** The folder for results, RESULTS.md and plots, relative to the project. */
  out: string;
  /** An earlier results.json to compare with. */
  against: string | undefined;
  /** Writes RESULTS.md and the plots from results.json, and measures nothing. */
  isReportOnly: boolean;
}

/** Parses the command line. Throws on an unknown option. */
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
