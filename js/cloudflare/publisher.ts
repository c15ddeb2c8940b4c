import { ListenError } from '../error.js';
import type { ChangeEvent, ServerEvent } from '../event.js';

/** One who may publish, and what. Without a list of rights it may publish everything. */
export interface Publisher {
  /** Shown as a bearer token, or used to sign. At least 16 bytes, and not the same as another publisher's. */
  secret: string;
  /**
   * The kinds of changes that it may publish (default: all kinds; with `uriPrefixes` `resource_updated` alone, with
   * `audiences` all but `task_status`).
   */
  kinds?: readonly ChangeEvent['kind'][];
  /**
   * What the URI of a `resource_updated` must begin with: one of these texts, compared code point by code point. End a
   * prefix with a separator: `note://acme` is also the beginning of `note://acme-2`. Default: any URI.
   */
  uriPrefixes?: readonly string[];
  /** The audiences for which it may publish, each its exact name, and nothing for everybody. Default: all and everybody. */
  audiences?: readonly string[];
}

/**
 * The publishers, once they have been looked through.
 *
 * @throws ListenError `invalid-options`.
 */
export function checked(publishers: readonly Publisher[]): readonly Publisher[] {
  if (!Array.isArray(publishers) || !publishers.every(isPublisher)) {
    throw new ListenError(
      'invalid-options',
      `publishers need a secret of at least ${FEWEST_BYTES} bytes, and lists as rights`,
    );
  }
  if (new Set(publishers.map(({ secret }) => secret)).size < publishers.length) {
    throw new ListenError('invalid-options', 'two publishers have the same secret');
  }
  return publishers;
}

/** The place of the first event that is beyond the rights of the publisher; undefined: there is none. */
export function beyondRights(publisher: Publisher, events: readonly string[]): number | undefined {
  const place = events.findIndex((event) => !mayPublish(publisher, JSON.parse(event) as ServerEvent));
  return place === -1 ? undefined : place;
}

/** A kind that is not known is beyond all rights but those of a publisher with all of them. */
function mayPublish(publisher: Publisher, event: ServerEvent): boolean {
  const { audiences, uriPrefixes } = publisher;
  const isFor = event.kind === 'for_audience' ? event.audience : undefined;
  const change = event.kind === 'for_audience' ? event.event : event;
  if (audiences !== undefined && !(isFor !== undefined && audiences.includes(isFor))) return false;
  if (!(kindsOf(publisher)?.some((kind) => kind === change.kind) ?? true)) return false;
  if (uriPrefixes === undefined || change.kind !== 'resource_updated') return true;
  return uriPrefixes.some((prefix) => change.uri.startsWith(prefix));
}

/** Undefined: all. What a narrowed publisher may not tell by its other rights, it has to be given by name. */
function kindsOf({ audiences, kinds, uriPrefixes }: Publisher): readonly ChangeEvent['kind'][] | undefined {
  if (kinds !== undefined) return kinds;
  if (uriPrefixes !== undefined) return ['resource_updated'];
  return audiences && KINDS.filter((kind) => kind !== 'task_status');
}

function isPublisher(publisher: unknown): publisher is Publisher {
  const { audiences, kinds, secret, uriPrefixes } = (publisher ?? {}) as Partial<Publisher>;
  if (typeof secret !== 'string' || new TextEncoder().encode(secret).byteLength < FEWEST_BYTES) return false;
  return (
    isList(audiences) && isList(uriPrefixes) && isList(kinds) && (kinds ?? []).every((kind) => KINDS.includes(kind))
  );
}

/** Half a character as the end of a prefix would be compared as no code point is. */
function isList(list: unknown): boolean {
  if (list === undefined) return true;
  return Array.isArray(list) && list.every((text) => typeof text === 'string' && !/\p{Surrogate}/u.test(text));
}

const KINDS: readonly ChangeEvent['kind'][] = [
  'tools_list_changed',
  'prompts_list_changed',
  'resources_list_changed',
  'resource_updated',
  'task_status',
];
/** Bytes of a secret that guessing does not find: 128 bits, where they are random. */
const FEWEST_BYTES = 16;
