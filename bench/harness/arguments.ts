import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface Options {
  size: 'full' | 'quick';
  /** Experiments by name, or by a promise they are evidence for; all of them without it. */
  only: string[] | undefined;
  /** The folder for what is written, relative to the project. */
  out: string;
  /** An earlier results.json to compare ours with. */
  against: string | undefined;
  /** Writes RESULTS.md and the plots anew, and measures nothing. */
  isReportOnly: boolean;
}

/** Only a whole run is written where it is committed: parts of several runs do not belong side by side. */
export function argumentsOf(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      out: { type: 'string' },
      against: { type: 'string' },
      report: { type: 'boolean', default: false },
    },
  });
  const isPart = values.quick || values.only !== undefined;
  return {
    size: values.quick ? 'quick' : 'full',
    only: values.only?.split(','),
    out: values.out ?? (isPart ? '.build/bench' : 'bench'),
    against: values.against,
    isReportOnly: values.report,
  };
}
