import type { Endpoint, List, Server } from '../mcp/endpoint.js';
import { record, text } from '../mcp/json.js';

/** One entry of a list. */
export interface Item {
  /** A name, of a resource its URI. */
  key: string;
  /** What it is said to be. */
  description: string;
  /** All of it, as the server sent it. */
  raw: Record<string, unknown>;
}

/** What a server lists. */
export type Catalogue = Record<List, Item[]>;

/** The lists, in the order of the page. */
export const LISTS = ['resources', 'tools', 'prompts'] as const satisfies List[];

/** Reads a list again; a list that the server does not have is empty. */
export async function itemsOf(endpoint: Endpoint, server: Server, list: List): Promise<Item[]> {
  if (record(server.capabilities[list]) === undefined) return [];
  const items = await endpoint.list(list);
  return items.map((raw) => ({
    key: text(raw['uri']) ?? text(raw['name']) ?? '',
    description: text(raw['description']) ?? text(raw['title']) ?? '',
    raw,
  }));
}

/** Whether the server says that it tells of changes of a list. */
export function tellsOf({ capabilities }: Server, list: List): boolean {
  return record(capabilities[list])?.['listChanged'] === true;
}

/** Whether the server says that it tells of changes of resources. */
export function tellsOfResources({ capabilities }: Server): boolean {
  return record(capabilities['resources'])?.['subscribe'] === true;
}

/** Whether the server tells of the states of tasks (Tasks extension, SEP-2663). */
export function tellsOfTasks({ capabilities }: Server): boolean {
  return (
    record(record(capabilities['extensions'])?.['io.modelcontextprotocol/tasks']) !== undefined
  );
}
