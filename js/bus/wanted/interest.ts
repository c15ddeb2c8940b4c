import type { AuthorizeContext } from '../../auth/authorize.js';
import { callerId } from '../../auth/caller-id.js';
import type { SubscriptionFilter } from '../../model/filter.js';
import type { Place } from '../../timing/concurrency-limit.js';
import type { Topic } from './topic.js';
import { topicsOf, withoutTopics } from './topic.js';

/** A bus that can be asked what its streams subscribe to. */
export interface WantedBus {
  /**
   * Resolves with whether any stream of the bus subscribes to the topic, in this or another process
   * or isolate.
   *
   * @throws ListenError (as a rejection) `not-supported`: the bus was created without `wanted`.
   */
  isWanted(topic: Topic): Promise<boolean>;
}

/**
 * What the streams of this process or isolate subscribe to, for the hooks of the bus.
 *
 * @internal
 */
export interface Interest {
  /**
   * Grants topics, given as texts, to a stream that is not acknowledged yet: for a minute, unless
   * the grant is kept. `caller` identifies its caller; undefined if nothing does.
   */
  want(topics: readonly string[], caller?: string): Promise<TopicGrant>;
}

/**
 * The topics of one stream.
 *
 * @internal
 */
export interface TopicGrant {
  /** The topics that the hooks refuse. */
  refused: readonly string[];
  /** Those of the refused topics that the hooks may accept later: they threw, or took too long. */
  failed: readonly string[];
  /** The stream is open. Workers may drop a request without a release before that. */
  keep(): void;
  /** The stream has ended; may be called twice. */
  release(): void;
}

/** Returns the grant of a stream that takes these places, one for each topic. */
export function grantOf(
  refused: readonly string[],
  places: readonly (Place | false | undefined)[],
  failed: readonly string[] = [],
): TopicGrant {
  const taken = places.filter((place) => place !== undefined && place !== false);
  return {
    refused,
    failed,
    keep: () => {
      for (const place of taken) place.keep();
    },
    release: () => {
      for (const place of taken) place.leave();
    },
  };
}

/**
 * Lets the hooks of a bus refuse what a client of an earlier revision may receive of a filter.
 * `permit` is JSON text; undefined: everything.
 */
export async function withoutRefused(
  interest: Interest | undefined,
  context: AuthorizeContext,
  permit: string | undefined,
): Promise<string | undefined> {
  if (interest === undefined) return permit;
  const { requested } = context;
  const permitted = permit === undefined ? requested : (JSON.parse(permit) as SubscriptionFilter);
  const allowed = new Set(topicsOf(permitted));
  const asked = topicsOf(requested).filter((topic) => allowed.has(topic));
  // The bus counts the streams of sessions itself.
  const { refused, release } = await interest.want(asked, callerId(context));
  release();
  return JSON.stringify(withoutTopics(permitted, refused));
}
