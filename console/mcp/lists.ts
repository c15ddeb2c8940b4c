import type { Endpoint } from './endpoint.js';
import { records, text } from './json.js';

/** The lists of a server. */
export type List = 'tools' | 'prompts' | 'resources' | 'templates' | 'events';

/** The first items of a list, and whether the list has more. */
export interface Items<Item> {
  items: Item[];
  hasMore: boolean;
}

/** Returns the items of a list, reading it page by page, at most {@link MAX_PAGES}. */
export async function readList(
  endpoint: Endpoint,
  list: List,
): Promise<Items<Record<string, unknown>>> {
  const { member, method } = LISTED[list];
  const items = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await endpoint.request(method, cursor === undefined ? {} : { cursor });
    items.push(...records(page[member]));
    cursor = text(page['nextCursor']);
    if (cursor === undefined) break;
  }
  return { items, hasMore: cursor !== undefined };
}

/** The request for each list, and the member of its result. */
const LISTED: Record<List, { method: string; member: string }> = {
  tools: { method: 'tools/list', member: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts' },
  resources: { method: 'resources/list', member: 'resources' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates' },
  events: { method: 'events/list', member: 'events' },
};
/** Maximum number of pages of a list: a server could name a next page forever. */
export const MAX_PAGES = 50;
