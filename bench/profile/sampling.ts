import { type Profiler, Session } from 'node:inspector/promises';

/** Where time goes: see {@link PLACES}. */
export type Place = keyof typeof PLACES;

/** The time that functions themselves take, without that of what they call, in microseconds. */
export interface SelfTime {
  place: Place;
  /** Its name, with its file if it is JavaScript. */
  name: string;
  us: number;
}

/** Samples the stack of this process, in JavaScript and in WebAssembly, while `work` runs. */
export async function sampled(work: () => Promise<void>): Promise<SelfTime[]> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.post('Profiler.start');
  await work();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return selfTimes(profile);
}

function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): SelfTime[] {
  const spent = new Map<number, number>();
  samples.forEach((id, sample) => {
    spent.set(id, (spent.get(id) ?? 0) + (timeDeltas[sample] ?? 0));
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const times = new Map<string, SelfTime>();
  const visit = (node: Profiler.ProfileNode, isPublish: boolean): void => {
    const { functionName, url } = node.callFrame;
    const within = isPublish || (functionName === 'publish' && url.includes('/bench/servers/'));
    const place = placeOf(node.callFrame, within);
    const name = nameOf(node.callFrame);
    const time = times.get(`${place} ${name}`) ?? { place, name, us: 0 };
    time.us += spent.get(node.id) ?? 0;
    times.set(`${place} ${name}`, time);
    for (const child of node.children ?? []) {
      const called = byId.get(child);
      if (called !== undefined) visit(called, within);
    }
  };
  if (nodes[0] !== undefined) visit(nodes[0], false);
  return [...times.values()].sort((one, other) => other.us - one.us);
}

function placeOf({ functionName, url }: Frame, isPublish: boolean): Place {
  if (functionName === '(garbage collector)') return 'collector';
  if (functionName === '(idle)') return 'idle';
  if (!isPublish) return 'rest';
  if (url.startsWith('wasm:')) return 'core';
  if (url.startsWith('node:')) return 'streams';
  return /\/(dist|pkg)\//.test(url) ? 'glue' : 'host';
}

function nameOf({ functionName, url }: Frame): string {
  const name = functionName.replace(/::h[0-9a-f]{16}$/, '').replace(/\[[0-9a-f]{16}\]/g, '');
  if (url === '' || url.startsWith('wasm:')) return name;
  return `${name || 'a function'} of ${url.split('/').slice(-2).join('/')}`;
}

type Frame = Profiler.ProfileNode['callFrame'];

/** What takes time. All but the last three are within a publish. */
export const PLACES = {
  core: 'the core, in WebAssembly',
  glue: 'our JavaScript',
  streams: 'the streams of Node',
  host: 'the engine, such as calls between JavaScript and WebAssembly, and the benchmark',
  collector: 'the garbage collector',
  idle: 'idle',
  rest: 'outside a publish: the readers',
} as const;

/** Microseconds between samples. */
const INTERVAL_US = 100;
