import type { SubscriptionFilter } from '../../model/filter.js';

/** What a token lets its caller hear: a filter, whose URIs and task ids are patterns. */
export interface Rights extends SubscriptionFilter {
  /** The audiences of the caller. */
  audiences?: string[];
}

/** A claim as rights; undefined: it has another form. */
export function rightsOf(claim: unknown): Rights | undefined {
  if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) return undefined;
  const rights = claim as Record<string, unknown>;
  const isWellFormed =
    LISTS.every((list) => ['boolean', 'undefined'].includes(typeof rights[list])) &&
    [...NAMES, 'audiences'].every((names) => rights[names] === undefined || isTexts(rights[names]));
  return isWellFormed ? rights : undefined;
}

/** What the rights allow of what is requested, and of the lists perhaps more. */
export function allowed(rights: Rights, requested: SubscriptionFilter): SubscriptionFilter {
  const filter: SubscriptionFilter = {};
  for (const list of LISTS) filter[list] = rights[list] === true;
  for (const names of NAMES) {
    const patterns = rights[names] ?? [];
    filter[names] = (requested[names] ?? []).filter((name) =>
      patterns.some((pattern) => matches(pattern, name)),
    );
  }
  return filter;
}

/**
 * Whether a pattern is for a name. One that ends with `*` is for every name that begins with what stands before it, any other just for
 * itself. Texts are compared as they stand: a `*` anywhere else is a character like all others.
 */
function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

const LISTS = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;
const NAMES = ['resourceSubscriptions', 'taskIds'] as const;
