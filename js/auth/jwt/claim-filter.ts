import { LISTS, type SubscriptionFilter } from '../../model/filter.js';
import { isListOfStrings } from '../../model/json.js';

/** What a token allows its caller to receive: a filter whose URIs and task ids are patterns. */
export interface Rights extends SubscriptionFilter {
  /** The groups of the caller. */
  groups?: string[];
}

/** Returns a claim as rights; undefined if it has another form. */
export function rightsOf(claim: unknown): Rights | undefined {
  if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) return undefined;
  const rights = claim as Record<string, unknown>;
  const isWellFormed =
    LISTS.every(({ member }) => ['boolean', 'undefined'].includes(typeof rights[member])) &&
    [...NAMES, 'groups'].every(
      (names) => rights[names] === undefined || isListOfStrings(rights[names]),
    );
  return isWellFormed ? rights : undefined;
}

/**
 * Returns what the rights allow: all allowed lists, and the requested URIs and task ids that match.
 */
export function allowed(rights: Rights, requested: SubscriptionFilter): SubscriptionFilter {
  const filter: SubscriptionFilter = {};
  for (const { member } of LISTS) filter[member] = rights[member] === true;
  for (const names of NAMES) {
    const patterns = rights[names] ?? [];
    filter[names] = (requested[names] ?? []).filter((name) =>
      patterns.some((pattern) => matches(pattern, name)),
    );
  }
  return filter;
}

/**
 * Returns whether a pattern matches a name. A pattern that ends with `*` matches every name with
 * that prefix; any other pattern matches only the equal name. Texts are compared unchanged, and a
 * `*` elsewhere is an ordinary character.
 */
function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

const NAMES = ['resourceSubscriptions', 'taskIds'] as const;
