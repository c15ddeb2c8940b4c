import { readFile } from 'node:fs/promises';
import { init } from 'mcp-listen/slim';
import { main } from '../../scripts/process/main.mjs';
import { Readers } from '../in-process/readers.ts';
import { eventUri, type Scenario } from '../in-process/scenario.ts';
import type { Server } from '../servers/server.ts';
import { type ServerName, serverOf } from '../servers/servers.ts';
import { PLACES, type Place, type SelfTime, sampled } from './sampling.ts';

/** The time of one targeted event beside a number of streams, in microseconds. */
export interface Profile {
  streams: number;
  /** Processor time of a publish without the profiler, and the cheapest of the rounds. */
  publish: number;
  least: number;
  /** By place. */
  places: Record<Place, number>;
  /** The functions that take most. */
  functions: SelfTime[];
}

/** Profiles a server with each number of streams, one after the other, and prints it as JSON. */
async function targeted(): Promise<void> {
  const [, , name, order, module, ...sizes] = process.argv as Arguments;
  init(await readFile(module));
  const profiles: Profile[] = [];
  for (const streams of sizes.map(Number)) profiles.push(await profileOf(name, order, streams));
  process.stdout.write(JSON.stringify(profiles));
  process.exit();
}

async function profileOf(name: ServerName, order: Order, streams: number): Promise<Profile> {
  const isAdjacent = order === 'adjacent';
  const scenario = { streams, ids: 4, uris: 1, matching: 100, events: EVENTS, isAdjacent };
  const server = await serverOf(name);
  const readers = await Readers.open(server, scenario);
  for (let round = 0; round < WARM_UPS; round += 1) await publishAll(server, readers, scenario);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push((await publishAll(server, readers, scenario)) / EVENTS);
  const times = await sampled(async () => {
    for (let round = 0; round < ROUNDS; round += 1) await publishAll(server, readers, scenario);
  });
  readers.leave();
  return { streams, ...summary(rounds), ...perEvent(times) };
}

/** Publishes the events of a round. Returns the microseconds of processor time of all publishes. */
async function publishAll(
  { publish }: Server,
  readers: Readers,
  scenario: Scenario,
): Promise<number> {
  let spent = 0;
  for (let event = 0; event < scenario.events; event += 1) {
    const arrived = readers.expect(scenario.matching);
    const before = process.cpuUsage();
    const published = publish(eventUri(scenario, event));
    const { system, user } = process.cpuUsage(before);
    spent += system + user;
    await Promise.all([published, arrived]);
  }
  return spent;
}

function summary(rounds: number[]): Pick<Profile, 'publish' | 'least'> {
  const sorted = rounds.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return { publish: rounded(median), least: rounded(sorted[0] ?? 0) };
}

function perEvent(times: SelfTime[]): Pick<Profile, 'places' | 'functions'> {
  const each = times.map((time) => ({ ...time, us: time.us / EVENTS / ROUNDS }));
  const total = (place: string) =>
    each.reduce((sum, time) => sum + (time.place === place ? time.us : 0), 0);
  const places = Object.keys(PLACES).map((place) => [place, rounded(total(place))]);
  const functions = each.filter(({ place, us }) => place !== 'rest' && us >= LEAST_US);
  return {
    places: Object.fromEntries(places) as Record<Place, number>,
    functions: functions.slice(0, SHOWN).map((time) => ({ ...time, us: rounded(time.us) })),
  };
}

function rounded(us: number): number {
  return Number(us.toFixed(2));
}

type Arguments = [string, string, ServerName, Order, string];
/** How the streams that receive the events are opened: spread among the others, or before them. */
type Order = 'spread' | 'adjacent';

/** Events of a round. */
const EVENTS = 400;
/** Rounds before the measured ones: the runtime compiles the code for each event late. */
const WARM_UPS = 8;
const ROUNDS = 40;
/** Functions to show: at most, and the least microseconds that one takes for an event. */
const SHOWN = 24;
const LEAST_US = 0.05;

await main(import.meta.url, targeted);
