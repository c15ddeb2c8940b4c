import type { Entrant, Experiment, Metric } from '../harness/experiment.ts';
import { OURS } from '../harness/experiment.ts';
import { bundleSize, type Side } from './bundle.ts';
import { consoleSize } from './console.ts';
import { instantiation, instantiationOnWorkerd } from './instantiation.ts';
import { gzippedSize } from './module.ts';

/** The sizes of what a host loads, and the time until it can call it. */
export function sizes(rounds: number): Experiment[] {
  return [
    bundle(
      'worker',
      'what the package adds to a Worker that serves listens from a Durable Object bus',
    ),
    bundle('node', 'what the package adds to a server on Node that serves listens in its process'),
    bundle('page', 'what the package adds to a page that watches a server'),
    {
      ...{ name: 'server-wasm', proves: [], metrics: [GZIP], warmUps: 0, rounds: 1 },
      title: 'what a server loads',
      entrants: [
        entrant(OURS, 'the module of a server, compressed with gzip -9', () =>
          gzippedSize('server'),
        ),
      ],
    },
    {
      ...{ name: 'client-wasm', proves: [], metrics: [GZIP], warmUps: 0, rounds: 1 },
      title: 'what a client loads',
      entrants: [
        entrant(OURS, 'the module of a client, compressed with gzip -9', () =>
          gzippedSize('client'),
        ),
      ],
    },
    {
      ...{
        name: 'instantiate',
        proves: ['S7'],
        metrics: [INSTANTIATE, COMPILE],
        warmUps: 1,
        rounds,
      },
      title: 'the module of a server in a new process of each of its hosts',
      entrants: [
        entrant('Node', INCLUDES, instantiation),
        entrant(
          'workerd',
          'the mean of 20 instances with stand-ins for imports; it compiles earlier',
          instantiationOnWorkerd,
        ),
        entrant('Deno', INCLUDES, () => instantiation('deno', 'run', '--allow-all')),
        entrant(
          'Bun',
          `${INCLUDES}; it compiles the whole module at once, the others function by function`,
          () => instantiation('bun'),
        ),
      ],
    },
    {
      ...{ name: 'console-size', proves: ['S14'], warmUps: 0, rounds: 1 },
      metrics: [PAGE, OPERATE, INSPECT, BOTH_TABS],
      title: 'what the console loads',
      entrants: [entrant(OURS, 'all files, each compressed with gzip -9', consoleSize)],
    },
  ];
}

function bundle(side: Side, title: string): Experiment {
  const includes = 'wasm and minified JavaScript, each compressed with gzip -9';
  return {
    ...{
      name: `bundle-${side}`,
      title,
      proves: side === 'page' ? ['S7'] : ['S7', 'S13'],
      metrics: [GZIP, WASM, SCRIPT, EVENTS],
      warmUps: 0,
      rounds: 1,
    },
    entrants: [entrant(OURS, includes, () => bundleSize(side))],
  };
}

function entrant(
  name: string,
  includes: string,
  round: () => Promise<Record<string, number>>,
): Entrant {
  return { name, includes, enter: async () => ({ round, leave: async () => {} }) };
}

const INCLUDES = 'from a compiled module to exports that can be called; compilation beside it';
const GZIP: Metric = { id: 'gzip', title: 'gzip', unit: 'KB', better: 'less' };
const WASM: Metric = { id: 'wasm', title: 'its wasm', unit: 'KB', better: 'less' };
const SCRIPT: Metric = { id: 'script', title: 'its JavaScript', unit: 'KB', better: 'less' };
const EVENTS: Metric = { id: 'events', title: 'wasm of MCP Events', unit: 'KB', better: 'less' };
const PAGE: Metric = { id: 'page', title: 'until it connects', unit: 'KB', better: 'less' };
const OPERATE: Metric = { id: 'operate', title: 'Operate alone', unit: 'KB', better: 'less' };
const INSPECT: Metric = { id: 'inspect', title: 'Inspect', unit: 'KB', better: 'less' };
const BOTH_TABS: Metric = { id: 'all', title: 'both tabs', unit: 'KB', better: 'less' };
const INSTANTIATE: Metric = { id: 'instantiate', title: 'instantiate', unit: 'ms', better: 'less' };
const COMPILE: Metric = { id: 'compile', title: 'compile', unit: 'ms', better: 'less' };
