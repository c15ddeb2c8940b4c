import { record, text } from './json.js';

/** How a server describes itself. */
export interface Server {
  name: string;
  version: string;
  revision: string;
  capabilities: Record<string, unknown>;
  /** How to use the server, in its own words; an empty string if it says nothing. */
  instructions: string;
}

/** Returns the server in the result of `server/discover` or `initialize`. */
export function serverIn(result: Record<string, unknown>, info: unknown, revision: string): Server {
  const { name, title, version } = record(info) ?? {};
  return {
    name: text(title) ?? text(name) ?? 'Unnamed server',
    version: text(version) ?? '',
    revision,
    capabilities: record(result['capabilities']) ?? {},
    instructions: text(result['instructions']) ?? '',
  };
}
