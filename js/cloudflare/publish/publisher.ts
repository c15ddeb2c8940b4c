import { ListenError } from '../../model/error.js';
import { type ChangeEvent, EVENT_TYPES_URI, type ServerEvent } from '../../model/event.js';
import { isLongSecret, MIN_SECRET_BYTES } from '../../web/bearer.js';

/** A kind of what is published. */
export type PublishedKind = ChangeEvent['kind'] | 'event';

/** A publisher and its rights. Without any rights listed it may publish everything. */
export interface Publisher {
  /**
   * The bearer token of the publisher, or the key of its signatures. At least 16 bytes, and
   * different from the secrets of other publishers.
   */
  secret: string;
  /**
   * The kinds of changes that the publisher may publish, and `event` for occurrences of MCP Events.
   * An empty list allows none.
   *
   * @default every kind; with `uriPrefixes` `resource_updated` alone, with `groups` every kind
   *   but `task_status`
   */
  kinds?: readonly PublishedKind[];
  /**
   * Prefixes, one of which the URI of a `resource_updated` must begin with, compared by code point.
   * End a prefix with a separator: `note://acme` is also a prefix of `note://acme-2`. An empty list
   * allows none.
   *
   * @default every URI
   */
  uriPrefixes?: readonly string[];
  /**
   * The groups for which the publisher may publish, by exact name; it may not publish to
   * everyone. An empty list allows none.
   *
   * @default every group, and everyone
   */
  groups?: readonly string[];
}

/**
 * Returns the publishers if all of them are valid.
 *
 * @throws ListenError `invalid-options`.
 */
export function checked(publishers: readonly Publisher[]): readonly Publisher[] {
  if (!Array.isArray(publishers) || !publishers.every(isPublisher)) {
    throw new ListenError(
      'invalid-options',
      `each publisher must have a secret of at least ${MIN_SECRET_BYTES} bytes, ` +
        'and its rights must be lists',
    );
  }
  if (new Set(publishers.map(({ secret }) => secret)).size < publishers.length) {
    throw new ListenError('invalid-options', 'two publishers have the same secret');
  }
  return publishers;
}

/**
 * Returns the index of the first event that the publisher may not publish; undefined if it may
 * publish all of them.
 */
export function firstForbidden(
  publisher: Publisher,
  events: readonly string[],
): number | undefined {
  const { groups, kinds, uriPrefixes } = publisher;
  if (groups === undefined && kinds === undefined && uriPrefixes === undefined) return undefined;
  const index = events.findIndex(
    (event) => !mayPublish(publisher, JSON.parse(event) as PublishableEvent),
  );
  return index === -1 ? undefined : index;
}

/**
 * Returns whether the publisher may publish an event. A publisher with a list of kinds may publish
 * no unknown kind.
 */
function mayPublish(publisher: Publisher, event: PublishableEvent): boolean {
  const { groups, uriPrefixes } = publisher;
  const isFor = 'group' in event ? event.group : undefined;
  const change = changeOf(event);
  if (groups !== undefined && !(isFor !== undefined && groups.includes(isFor))) return false;
  if (!(kindsOf(publisher)?.some((kind) => kind === change.kind) ?? true)) return false;
  if (uriPrefixes === undefined || change.kind !== 'resource_updated') return true;
  return uriPrefixes.some((prefix) => change.uri.startsWith(prefix));
}

/** Returns the change that an event reports. */
function changeOf(event: PublishableEvent): PublishedChange {
  const change = event.kind === 'for_group' ? event.event : event;
  // Buses carry a change of the list of event types as an update.
  const isOfEventTypes = change.kind === 'resource_updated' && change.uri === EVENT_TYPES_URI;
  return isOfEventTypes ? { kind: 'events_list_changed' } : change;
}

/**
 * Returns the kinds that a publisher may publish; undefined for all. The other rights do not
 * restrict the kinds that are left out here, so only `kinds` allows them.
 */
function kindsOf({ groups, kinds, uriPrefixes }: Publisher): readonly PublishedKind[] | undefined {
  if (kinds !== undefined) return kinds;
  if (uriPrefixes !== undefined) return ['resource_updated'];
  return groups && KINDS.filter((kind) => kind !== 'task_status');
}

function isPublisher(publisher: unknown): publisher is Publisher {
  const { groups, kinds, secret, uriPrefixes } = (publisher ?? {}) as Partial<Publisher>;
  if (!isLongSecret(secret)) return false;
  return (
    isList(groups) &&
    isList(uriPrefixes) &&
    isList(kinds) &&
    (kinds ?? []).every((kind) => KINDS.includes(kind))
  );
}

/**
 * Whether a list of rights is valid. Lone surrogates are not: a prefix that ends in one would end
 * within a code point.
 */
function isList(list: unknown): boolean {
  if (list === undefined) return true;
  return (
    Array.isArray(list) &&
    list.every((text) => typeof text === 'string' && !/\p{Surrogate}/u.test(text))
  );
}

/** An event of the bus, or an occurrence of MCP Events. */
type PublishableEvent = ServerEvent | { kind: 'event'; group?: string };
type PublishedChange = Exclude<PublishableEvent, { kind: 'for_group' }>;

const KINDS: readonly PublishedKind[] = [
  'event',
  'tools_list_changed',
  'prompts_list_changed',
  'resources_list_changed',
  'events_list_changed',
  'resource_updated',
  'task_status',
];
