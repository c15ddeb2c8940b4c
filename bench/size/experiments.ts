import type { Entrant, Experiment, Metric } from '../harness/experiment.ts';
import { OURS } from '../harness/experiment.ts';
import { instantiation } from './instantiation.ts';
import { gzippedSize } from './module.ts';

/** What a host must load, and how long that takes. */
export function sizes(rounds: number): Experiment[] {
  return [
    {
      ...{ name: 'server-wasm', proves: ['S7'], metrics: [GZIP], warmUps: 0, rounds: 1 },
      title: 'what a server loads',
      entrants: [entrant('the module of a server, compressed with gzip -9', () => gzippedSize('server'))],
    },
    {
      ...{ name: 'client-wasm', proves: ['S7'], metrics: [GZIP], warmUps: 0, rounds: 1 },
      title: 'what a client loads',
      entrants: [entrant('the module of a client, compressed with gzip -9', () => gzippedSize('client'))],
    },
    {
      ...{ name: 'instantiate', proves: ['S7'], metrics: [INSTANTIATE, COMPILE], warmUps: 1, rounds },
      title: 'the module of a server in a new process of Node',
      entrants: [entrant('from a compiled module to exports that can be called; compilation beside it', instantiation)],
    },
  ];
}

function entrant(includes: string, round: () => Promise<Record<string, number>>): Entrant {
  return { name: OURS, includes, enter: async () => ({ round, leave: async () => {} }) };
}

const GZIP: Metric = { id: 'gzip', title: 'gzip', unit: 'KB', better: 'less' };
const INSTANTIATE: Metric = { id: 'instantiate', title: 'instantiate', unit: 'ms', better: 'less' };
const COMPILE: Metric = { id: 'compile', title: 'compile', unit: 'ms', better: 'less' };
