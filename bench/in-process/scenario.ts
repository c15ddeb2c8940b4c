import { listenFor, resourceUri, subscriptionId } from '../frame.ts';

/** Who listens to what, and how much is published. */
export interface Scenario {
  streams: number;
  /** Distinct ids among the streams' listen requests. */
  ids: number;
  /** Resources that each stream watches. */
  uris: number;
  /**
   * How many of the streams watch the resources that are published; the others watch resources of
   * their own.
   */
  matching: number;
  /** Events of one round, published one after another, each once everybody has the one before. */
  events: number;
}

/** The resource of an event: all that the matching streams watch, in turn. */
export function eventUri({ uris }: Scenario, event: number): string {
  return resourceUri(event % uris);
}

/** Whether a stream hears the events; the matching streams are spread evenly. */
export function matches({ streams, matching }: Scenario, stream: number): boolean {
  return (
    Math.floor(((stream + 1) * matching) / streams) > Math.floor((stream * matching) / streams)
  );
}

/** The listen request of a stream. */
export function listenOf(scenario: Scenario, stream: number): string {
  const first = matches(scenario, stream) ? 0 : scenario.uris * (stream + 1);
  const uris = Array.from({ length: scenario.uris }, (_, index) => resourceUri(first + index));
  return listenFor(uris, subscriptionId(stream, scenario.ids));
}
