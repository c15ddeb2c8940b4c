import type { Endpoint } from '../mcp/endpoint.js';
import { EndpointError } from '../mcp/endpoint-error.js';
import { record, text } from '../mcp/json.js';
import { type Items, type List, readList } from '../mcp/lists.js';
import type { Server } from '../mcp/server.js';

/** One entry of a list. */
export interface Item {
  /** The name, or the URI of a resource. */
  key: string;
  /** The description or title. */
  description: string;
  /** The entry as the server sent it. */
  raw: Record<string, unknown>;
}

/** The entries of each list. */
export type Catalogue = Record<List, Item[]>;

/** The lists, in the order of the page. */
export const LISTS = [
  'resources',
  'templates',
  'tools',
  'prompts',
  'events',
] as const satisfies List[];

/** Reads a list; a list that the server does not offer is empty. */
export async function itemsOf(
  endpoint: Endpoint,
  server: Server,
  list: List,
): Promise<Items<Item>> {
  if (!offers(server, list)) return NO_ITEMS;
  const { hasMore, items } = await readList(endpoint, list).catch((error: unknown) => {
    // Many servers with resources have no templates, and do not know the request.
    if (list === 'templates' && error instanceof EndpointError && error.code === 'refused')
      return NO_ITEMS;
    throw error;
  });
  return { hasMore, items: items.map(itemOf) };
}

function itemOf(raw: Record<string, unknown>): Item {
  return {
    key: text(raw['uri']) ?? text(raw['uriTemplate']) ?? text(raw['name']) ?? '',
    description: text(raw['description']) ?? text(raw['title']) ?? '',
    raw,
  };
}

/** Whether the server has a list. */
function offers({ capabilities }: Server, list: List): boolean {
  if (list === 'events')
    return (record(capabilities['events']) ?? extension(capabilities, 'events')) !== undefined;
  return record(capabilities[list === 'templates' ? 'resources' : list]) !== undefined;
}

/** Whether the server announces notifications for a list. */
export function announcesList({ capabilities }: Server, list: List): boolean {
  return record(capabilities[list])?.['listChanged'] === true;
}

/** Whether the server announces notifications for resources. */
export function announcesResources({ capabilities }: Server): boolean {
  return record(capabilities['resources'])?.['subscribe'] === true;
}

/** Whether the server supports tasks (Tasks extension, SEP-2663). */
export function announcesTasks({ capabilities }: Server): boolean {
  return extension(capabilities, 'tasks') !== undefined;
}

function extension(capabilities: Record<string, unknown>, name: string) {
  return record(record(capabilities['extensions'])?.[`io.modelcontextprotocol/${name}`]);
}

const NO_ITEMS = { items: [], hasMore: false };
