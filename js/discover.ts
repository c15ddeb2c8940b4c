import { calling, ListenError } from './error.js';
import type { FetchHandler } from './handler.js';
import { Discovered, discoverHeaders, discoverRequest } from './wasm.js';

/** The members of MCP's `ServerCapabilities` that concern subscriptions; others are ignored. */
export interface ListenCapabilities {
  tools?: { listChanged?: boolean };
  prompts?: { listChanged?: boolean };
  resources?: { listChanged?: boolean; subscribe?: boolean };
  /** By name; `io.modelcontextprotocol/tasks` is the one that concerns subscriptions. */
  extensions?: { [name: string]: object };
}

/** What is known of a server whose capabilities are given. */
export function declared(capabilities: ListenCapabilities, serverInfo?: { name: string; version: string }): Discovered {
  const info = serverInfo && JSON.stringify(serverInfo);
  return calling(() => Discovered.fromOptions(capabilities, info));
}

/**
 * Asks the handler for its capabilities with `server/discover`, on behalf of `request`: its
 * credentials come along.
 *
 * @throws ListenError `discover-failed`.
 */
export async function discover(handler: FetchHandler, request: Request, rest: unknown[]): Promise<Discovered> {
  const headers = new Headers(request.headers);
  headers.delete('content-length');
  for (const line of discoverHeaders().split('\n')) {
    const [name = '', value = ''] = line.split(': ');
    headers.set(name, value);
  }
  const { signal, url } = request;
  try {
    const question = new Request(url, { method: 'POST', headers, body: discoverRequest(), signal });
    const answer = await handler(question, ...rest);
    return Discovered.fromAnswer(new Uint8Array(await answer.arrayBuffer()));
  } catch (cause) {
    const problem = 'the handler did not answer server/discover with its capabilities';
    throw new ListenError('discover-failed', problem, { cause });
  }
}
