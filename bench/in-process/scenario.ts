import { listenFor, resourceUri, subscriptionId } from '../requests.ts';

/** The streams of an experiment, and the events of its rounds. */
export interface Scenario {
  streams: number;
  /** Distinct ids of the listen requests. */
  ids: number;
  /** Resources that each stream watches. */
  uris: number;
  /** Streams that watch the published resources; each other stream watches different ones. */
  matching: number;
  /** Events of one round; each is published once every reader has the one before. */
  events: number;
  /** Characters by which the URI of each resource is longer than usual. */
  padding?: number;
  /** Whether the matching streams are opened one after another, before all others. */
  isAdjacent?: boolean;
}

/** The resource of an event: those that the matching streams watch, in turn. */
export function eventUri(scenario: Scenario, event: number): string {
  return uriOf(scenario, event % scenario.uris);
}

/** Whether a stream receives the events. Matching streams are adjacent, or spread evenly. */
export function matches(scenario: Scenario, stream: number): boolean {
  return rank(scenario, stream + 1) > rank(scenario, stream);
}

/** How many of the streams before this one match. */
function rank({ isAdjacent, streams, matching }: Scenario, stream: number): number {
  if (isAdjacent === true) return Math.min(stream, matching);
  return Math.floor((stream * matching) / streams);
}

/** The listen request of a stream. The matching streams have each of the ids, in turn. */
export function listenOf(scenario: Scenario, stream: number): string {
  const first = matches(scenario, stream) ? 0 : scenario.uris * (stream + 1);
  const uris = Array.from({ length: scenario.uris }, (_, index) => uriOf(scenario, first + index));
  return listenFor(uris, idOf(scenario, stream));
}

/** The id of a stream's listen request. */
export function idOf(scenario: Scenario, stream: number): string {
  const place = matches(scenario, stream) ? rank(scenario, stream) : stream;
  return subscriptionId(place, scenario.ids);
}

function uriOf({ padding = 0 }: Scenario, index: number): string {
  return resourceUri(index) + 'x'.repeat(padding);
}
