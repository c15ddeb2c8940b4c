import type { Endpoint, List, Server } from '../mcp/endpoint.js';
import { record, text } from '../mcp/json.js';

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
export const LISTS = ['resources', 'tools', 'prompts'] as const satisfies List[];

/** Reads a list; a list that the server does not offer is empty. */
export async function itemsOf(endpoint: Endpoint, server: Server, list: List): Promise<Item[]> {
  if (record(server.capabilities[list]) === undefined) return [];
  const items = await endpoint.list(list);
  return items.map((raw) => ({
    key: text(raw['uri']) ?? text(raw['name']) ?? '',
    description: text(raw['description']) ?? text(raw['title']) ?? '',
    raw,
  }));
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
  return (
    record(record(capabilities['extensions'])?.['io.modelcontextprotocol/tasks']) !== undefined
  );
}
